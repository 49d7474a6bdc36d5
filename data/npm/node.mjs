/** The client in node: before version 19, node's generator and hashes are not global. */
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
export * from "./index.mjs";
