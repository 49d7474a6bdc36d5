import java.io.*;
import java.math.*;
import java.nio.*;
import java.security.*;
import java.text.Normalizer;
import java.util.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.stream.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

/** A client of ldpflow: it turns a record into a report by randomized response, unary encoding or dyadic wave. As a program it
 *  answers the cases of `ldpflow conformance`, one JSON a line; an app calls Scheme.report, with SYSTEM as the words. */
public final class Client {
    static final long WORDS = 1L << 32;
    static final Words SYSTEM = new SecureRandom().longs(0, WORDS).iterator()::next;

    /** Whatever else fails while a scheme is read refuses it, too. A message names an attribute or a key, never a value. */
    static void require(boolean holds, String why) { if (!holds) throw new IllegalArgumentException(why); }

    // Words and bytes
    interface Words {                                 // independent uniform integers from 0 to 2^32 - 1
        long next();
        default long below(long n) {
            long word = next();
            return word < WORDS - WORDS % n ? word % n : below(n);
        }
    }
    static Words keyed(byte[] key, String digest, String name) {
        byte[] first = digest.getBytes(UTF_8), second = name.getBytes(UTF_8);
        byte[] seed = sha256(little(key.length, 4), key, little(first.length, 4), first, little(second.length, 4), second);
        int[] drawn = {0};                            // eight words a block; few are drawn
        return () -> ByteBuffer.wrap(sha256(seed, little(drawn[0] / 8, 8))).order(ByteOrder.LITTLE_ENDIAN)
            .getInt(drawn[0]++ % 8 * 4) & WORDS - 1;
    }
    static byte[] little(long number, int bytes) {
        return Arrays.copyOf(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array(), bytes);
    }
    static byte[] sha256(byte[]... parts) {
        try {
            MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
            for (byte[] part : parts) sha256.update(part);
            return sha256.digest();
        } catch (NoSuchAlgorithmException impossible) { throw new IllegalStateException(impossible); }
    }
    static String token(byte[] secret, String digest) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        return base64url(Arrays.copyOf(mac.doFinal(("ldpflow token\0" + digest).getBytes(UTF_8)), 16));
    }
    static String base64url(byte[] data) { return Base64.getUrlEncoder().withoutPadding().encodeToString(data); }

    // JSON, and the TOML of schemes, whose values are written as in JSON; lenient about commas and lines, which change nothing
    static final class Reader {
        final String text;
        int at = 0;
        Reader(String text) { this.text = text; }
        boolean took(String expected) {               // after blanks
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
            boolean there = text.startsWith(expected, at);
            if (there) at += expected.length();
            return there;
        }
        String bare(String pattern) {                 // a bare key or value
            Matcher match = Pattern.compile(pattern).matcher(text).region(at, text.length());
            require(match.lookingAt(), "character " + at + " cannot be read");
            at = match.end();
            return match.group();
        }
        String string() {                             // after its first quotation mark
            var read = new StringBuilder();
            for (; text.charAt(at) != '"'; at++) {
                int escape = text.charAt(at) == '\\' ? "\"\\/bfnrtu".indexOf(text.charAt(++at)) : 9;
                read.append(escape == 9 ? text.charAt(at) : escape < 8 ? "\"\\/\b\f\n\r\t".charAt(escape)
                    : (char) HexFormat.fromHexDigits(text, at + 1, (at += 4) + 1));
            }
            at++;
            return read.toString();
        }
        String key() { return took("\"") ? string() : bare("[A-Za-z0-9_-]+"); }
        Object value() {
            if (took("[")) {
                var list = new ArrayList<Object>();
                for (; !took("]"); took(",")) list.add(value());
                return list;
            }
            if (took("{")) {
                var object = new Table();
                for (; !took("}"); took(",")) object.read(this, ":");
                return object;
            }
            if (took("\"")) return string();
            String word = bare("true|false|null|-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?");
            if (word.matches("true|false|null")) return word.equals("null") ? null : (Object) word.equals("true");
            return word.matches("-?[0-9]+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        }
        Table scheme() {                              // tables within tables, in the order of the file
            Table top = new Table(), table = top;
            for (took(""); at < text.length(); took("")) {
                if (!took("[")) table.read(this, "=");
                else for (table = top; !took("]"); took(".")) table = table.table(key());
            }
            return top;
        }
    }

    /** A table of a scheme, or an object. */
    static final class Table extends LinkedHashMap<String, Object> {
        void read(Reader reader, String between) {
            String key = reader.key();
            require(reader.took(between) && !containsKey(key), key + ": repeated, or without a value");
            put(key, reader.value());
        }
        Table table(String key) { return (Table) computeIfAbsent(key, absent -> new Table()); }
        String text(String key, String absent) { return (String) getOrDefault(key, absent); }
        List<?> list(String key) { return (List<?>) getOrDefault(key, List.of()); }
        boolean chosen(String key, String absent, String choice, String other) {
            require(Set.of(choice, other).contains(text(key, absent)), key + ": unknown");
            return text(key, absent).equals(choice);
        }
        long integer(String key, long lowest, long highest) {
            long integer = (Long) get(key);
            require(lowest <= integer && integer <= highest, key + ": out of range");
            return integer;
        }
        long[] integers(String key, int count, long lowest) {
            long[] integers = list(key).stream().mapToLong(item -> (Long) item).toArray();
            require(integers.length == count && LongStream.of(integers).allMatch(n -> n >= lowest && n < WORDS), key);
            return integers;
        }
        void only(String keys) { require(List.of(keys.split(" ")).containsAll(keySet()), "an unknown key of " + keySet()); }
    }

    // Mechanisms
    interface Draw { long[] integers(Words words, long cell, int level); }
    /** inputs: the number of cells. highest: of each integer, by level; the lowest is 0. */
    record Mechanism(long inputs, double ratio, long[] law, IntFunction<long[]> highest, Draw draw) {
        static final long[] ONE = {1 << 16};
        int level(Words words) {
            int level = 0;
            for (long drawn = law.length > 1 ? words.below(1 << 16) : 0; drawn >= law[level]; ) drawn -= law[level++];
            return level;
        }
        static Mechanism randomizedResponse(Table client) {
            client.only("categories weight_in weight_out");
            long k = client.integer("categories", 1, WORDS), in = client.integer("weight_in", 1, WORDS);
            long out = client.integer("weight_out", 1, in - 1);
            require(in + (k - 1.0) * out <= WORDS, "weights: too large");
            return new Mechanism(k, (double) in / out, ONE, level -> new long[] {k - 1}, (words, cell, level) -> {
                long drawn = words.below(in + (k - 1) * out), other = (drawn - in) / out;
                return new long[] {drawn < in ? cell : other < cell ? other : other + 1};
            });
        }
        static Mechanism unaryEncoding(Table client) {
            client.only("categories coin_bits weight_true weight_other");
            int k = (int) client.integer("categories", 1, 1 << 30), last = (k - 1) / 32;
            long bits = client.integer("coin_bits", 1, 32), total = 1L << bits;
            long p = client.integer("weight_true", 1, total - 1), q = client.integer("weight_other", 1, p - 1);
            long[] highest = LongStream.rangeClosed(0, last).map(n -> n < last ? WORDS - 1 : (1L << k - 32 * n) - 1).toArray();
            return new Mechanism(k, (double) p / q * (total - q) / (total - p), ONE, level -> highest, (words, cell, level) -> {
                long[] integers = new long[last + 1];
                for (int bit = 0; bit < bits; bit++)
                    for (int n = 0; n <= last; n++) {
                        long drawn = words.next() ^ WORDS - 1;
                        integers[n] = (q >> bit & 1) == 1 ? integers[n] | drawn : integers[n] & drawn;
                    }
                integers[last] &= highest[last];
                integers[(int) cell / 32] &= ~(1L << cell % 32);
                integers[(int) cell / 32] |= (words.below(total) < p ? 1L : 0) << cell % 32;
                return integers;
            });
        }
        static Mechanism dyadicWave(Table client) {
            client.only("cells level_law widths weights_in weights_out harmonics");
            long cells = client.integer("cells", 2, 1024);
            int levels = client.list("level_law").size();
            require(Long.bitCount(cells) == 1 && 1 <= levels && levels <= 12, "cells or level_law: out of range");
            long[] law = client.integers("level_law", levels, 0), widths = client.integers("widths", levels, 1);
            long[] in = client.integers("weights_in", levels, 1), out = client.integers("weights_out", levels, 1);
            long[] harmonics = client.containsKey("harmonics") ? client.integers("harmonics", levels, 0)
                : LongStream.range(0, levels).map(level -> level == 0 ? 0 : 1L << level).toArray();
            long finest = Math.max(1, LongStream.of(harmonics).max().getAsLong());
            require(LongStream.of(law).sum() == 1 << 16 && cells * finest <= 4096, "level_law or harmonics: out of range");
            long[] outputs = new long[levels];
            double ratio = 0;
            for (int n = 0; n < levels; n++) {
                outputs[n] = harmonics[n] > 0 ? cells : cells + widths[n] - 1;
                double rest = outputs[n] - widths[n];
                require(Long.bitCount(harmonics[n]) <= 1 && widths[n] % 2 == 1 && rest > 0, "harmonics or widths: unfit");
                require(in[n] > out[n] && in[n] * (double) widths[n] + out[n] * rest < WORDS, "weights: unfit");
                ratio = Math.max(ratio, (double) in[n] / out[n]);
            }
            return new Mechanism(cells * finest, ratio, law, level -> new long[] {outputs[level] - 1}, (words, cell, level) -> {
                long phase = cell / (finest / Math.max(1, harmonics[level])) % cells, inside = widths[level] * in[level];
                long start = harmonics[level] > 0 ? Math.floorMod(phase - widths[level] / 2, cells) : phase;
                long drawn = words.below(inside + (outputs[level] - widths[level]) * out[level]);
                long step = drawn < inside ? drawn / in[level] : widths[level] + (drawn - inside) / out[level];
                return new long[] {(start + step) % outputs[level]};
            });
        }
    }

    // Cells: a function from a value to its cell, or to -1 if it has none
    static String trim(String text) { return text.replaceAll("^[ \\t\\n\\r\\x0B\\f]+|[ \\t\\n\\r\\x0B\\f]+$", ""); }
    static String normal(String text) { return Normalizer.normalize(trim(text), Normalizer.Form.NFC); }
    static boolean missingIsCategory(Table table) { return table.chosen("missing", "refuse", "category", "refuse"); }
    static List<String> names(Table table) {
        var names = table.list("categories").stream().map(String.class::cast).collect(Collectors.toCollection(ArrayList::new));
        if (missingIsCategory(table) && !names.contains("missing")) names.add("missing");
        return names;
    }

    static ToLongFunction<Object> categories(Table table, List<String> names) {
        long missing = missingIsCategory(table) ? names.indexOf("missing") : -1;
        long other = table.chosen("outside", "refuse", "other", "refuse") ? names.indexOf("other") : -1;
        var spellings = new LinkedHashMap<String, Long>();            // names, then codes in the order of their characters
        for (String name : names) spellings.put(name, (long) spellings.size());
        new TreeMap<>(table.table("codes")).forEach((code, name) -> {
            spellings.remove(code);
            spellings.put(code, (long) names.indexOf(name));
        });
        require(!spellings.containsValue(-1L), "codes: not of a category");
        return value -> {
            if (value == null || value instanceof List || value instanceof Table) return value == null ? missing : -1;
            if (value instanceof Number number) {
                double x = number.doubleValue();
                for (String spelling : Math.abs(x) < 1L << 53 ? spellings.keySet() : Set.<String>of())
                    if (spelling.matches("-?[0-9]{1,40}") && new BigDecimal(spelling).compareTo(new BigDecimal(x)) == 0)
                        return spellings.get(spelling);
                return other;
            }
            String text = value.toString();
            if (spellings.containsKey(text)) return spellings.get(text);
            String bare = normal(text).replaceFirst("^(-?[0-9]{1,40})\\.0+$", "$1");
            long[] equal = spellings.keySet().stream().filter(spelling -> normal(spelling).equals(bare))
                .mapToLong(spellings::get).distinct().toArray();
            if (equal.length == 1) return equal[0];
            return trim(text).toLowerCase(Locale.ROOT).matches("|na|n/a|nan|null|none") ? missing : other;
        };
    }

    static Double number(Object value) {                              // null if it is none; 0.0 for -0.0
        if (value instanceof Number number) return number.doubleValue() + 0.0;
        if (!(value instanceof String text)) return null;
        boolean numeral = trim(text).matches("[+-]?([0-9]+\\.?|[0-9]*\\.[0-9]+)([eE][+-]?[0-9]+)?");
        return numeral ? Double.parseDouble(trim(text)) + 0.0 : null;
    }
    static BigInteger[] bound(Object value) {                         // numerator and denominator
        Matcher read = Pattern.compile("(-?[0-9]+)(?:/([0-9]+))?").matcher(value.toString());
        require(read.matches(), "lower or upper: not a fraction");
        return new BigInteger[] {new BigInteger(read.group(1)), new BigInteger(read.group(2) == null ? "1" : read.group(2))};
    }
    static double nearest(BigInteger numerator, BigInteger denominator) {
        BigInteger common = numerator.gcd(denominator), top = numerator.divide(common), bottom = denominator.divide(common);
        require(bottom.signum() > 0 && top.abs().max(bottom).bitLength() <= 53, "lower or upper: no fraction, or too long");
        return top.doubleValue() / bottom.doubleValue();
    }

    static ToLongFunction<Object> numbers(Table table, long inputs) {
        BigInteger[] a = bound(table.get("lower")), b = bound(table.get("upper"));
        double lower = nearest(a[0], a[1]), upper = nearest(b[0], b[1]);
        double width = nearest(b[0].multiply(a[1]).subtract(a[0].multiply(b[1])), a[1].multiply(b[1]));
        require(width > 0 && !table.text("unit", "").startsWith("days since"), "upper or unit: unfit");
        boolean clip = table.chosen("outside", "clip", "clip", "refuse"), category = missingIsCategory(table);
        long missing = category ? inputs - 1 : -1, room = category ? inputs - inputs / 4 : inputs;
        Set<String> codes = table.table("codes").keySet();
        return value -> {
            Double x = number(value);
            if (value == null || value instanceof String text && trim(text).isEmpty() || codes.stream()
                .anyMatch(code -> code.equals(value) || x != null && x.equals(number(code)))) return missing;
            if (x == null || !clip && (x < lower || x > upper)) return -1;
            return Math.min((long) ((Math.min(Math.max(x, lower), upper) - lower) / width * room), room - 1);
        };
    }

    // Schemes and reports
    static double epsilon(String text) {
        double sum = 0;
        for (String term : text.split(" \\+ ", -1)) {
            Matcher read = Pattern.compile("(ln )?([0-9]+(?:\\.[0-9]+)?)(?:/([0-9]+(?:\\.[0-9]+)?))?").matcher(term);
            require(read.matches(), "epsilon: not a sum");
            double number = Double.parseDouble(read.group(2)) / Double.parseDouble(read.group(3) == null ? "1" : read.group(3));
            sum += read.group(1) == null ? number : Math.log(number);
        }
        return sum;
    }

    /** An attribute; or a label, whose mechanism says the truth. */
    record Field(String name, String column, ToLongFunction<Object> cells, Mechanism mechanism) {
        static Field attribute(String name, Table table) {
            boolean numeric = table.chosen("type", null, "numeric", "categorical");
            table.only("type column missing outside mechanism epsilon estimator functionals level_rule level assume intervals "
                + "design codes client" + (numeric ? " lower upper unit" : " categories values"));
            Mechanism mechanism = switch (table.text("mechanism", null)) {
                case "randomized_response" -> Mechanism.randomizedResponse(table.table("client"));
                case "unary_encoding" -> Mechanism.unaryEncoding(table.table("client"));
                case "dyadic_wave" -> Mechanism.dyadicWave(table.table("client"));
                default -> throw new IllegalArgumentException(name + ": an unknown mechanism");
            };
            require(mechanism.ratio <= Math.exp(epsilon(table.text("epsilon", null))) * (1 + 1e-9), name + ": above epsilon");
            require(numeric || names(table).size() == mechanism.inputs, name + ": another number of categories");
            var cells = numeric ? numbers(table, mechanism.inputs) : categories(table, names(table));
            return new Field(name, table.text("column", name), cells, mechanism);
        }
        static Field label(String name, Table table) {
            table.only("column categories missing outside codes");
            long highest = names(table).size() - 1;
            return new Field(name, table.text("column", name), categories(table, names(table)), new Mechanism(highest + 1, 1,
                Mechanism.ONE, level -> new long[] {highest}, (words, cell, level) -> new long[] {cell}));
        }
        long cell(Map<String, Object> record) {
            String key = record.containsKey(column) ? column : name;
            long cell = record.containsKey(key) ? cells.applyAsLong(record.get(key)) : -1;
            require(cell >= 0, name + ": absent, or a value that has no cell");
            return cell;
        }
        String payload(Words words, long cell, int level) {
            var bytes = new ByteArrayOutputStream();
            if (mechanism.law.length > 1) bytes.write(level);
            long[] integers = mechanism.draw.integers(words, cell, level), highest = mechanism.highest.apply(level);
            for (int n = 0; n < integers.length; n++)
                bytes.writeBytes(little(integers[n], Math.max(1, (71 - Long.numberOfLeadingZeros(highest[n])) / 8)));
            return base64url(bytes.toByteArray());
        }
    }

    static final class Scheme {
        final String digest;
        final boolean one;
        final List<Field> fields = new ArrayList<>();                 // the attributes, then the labels
        final int[] units;                                            // the first attribute of each attribute's unit
        Scheme(Table bundle, String known) {
            digest = HexFormat.of().formatHex(sha256(bundle.text("scheme.toml", null).getBytes(UTF_8)));
            Table manifest = (Table) new Reader(bundle.text("manifest.json", null)).value();
            require(digest.equals(known) && digest.equals(manifest.get("digest")), "digest: another");
            Table top = new Reader(bundle.text("scheme.toml", null)).scheme();
            top.only("format draws name reporting pairs description clients functionals attributes labels");
            require(top.integer("format", 1, 1) == (Long) top.getOrDefault("draws", 1L), "draws: unknown");
            one = top.chosen("reporting", null, "one", "all");
            top.table("attributes").forEach((name, table) -> fields.add(Field.attribute(name, (Table) table)));
            List<String> names = fields.stream().map(Field::name).toList();
            top.table("labels").forEach((name, table) -> fields.add(Field.label(name, (Table) table)));
            units = IntStream.range(0, names.size()).toArray();
            for (Object pair : top.list("pairs")) {
                int[] ends = ((List<?>) pair).stream().mapToInt(name -> units[names.indexOf(name)]).sorted().toArray();
                require(ends.length == 2, "pairs: not of two");
                for (int n = 0; n < units.length; n++) if (units[n] == ends[1]) units[n] = ends[0];
            }
        }
        String report(Map<String, Object> record, String round, byte[] secret, Words words) throws GeneralSecurityException {
            require(round.matches("([0-9A-Za-z][0-9A-Za-z._:-]{0,62})?"), "round: malformed");
            long[] cells = fields.stream().mapToLong(field -> field.cell(record)).toArray();
            var id = new ByteArrayOutputStream();
            for (int n = 0; n < 4; n++) id.writeBytes(little(words.next(), 4));
            String token = secret == null ? null : token(secret, digest);
            Function<String, Words> source = n -> token == null ? words : keyed(sha256(token.getBytes(UTF_8)), digest, n);
            int[] firsts = IntStream.of(units).distinct().sorted().toArray();
            int unit = one ? firsts[(int) source.apply("").below(firsts.length)] : -1;
            var answers = new StringJoiner(",", "{", "}");
            for (int n = 0; n < cells.length; n++) {
                if (one && n < units.length && units[n] != unit) continue;
                Field field = fields.get(n);
                int level = field.mechanism.level(source.apply(field.name));
                answers.add("\"%s\":\"%s\"".formatted(field.name, field.payload(words, cells[n], level)));
            }
            return "{\"format\":1,\"scheme\":\"%s\",\"report\":\"%s\"%s,\"round\":\"%s\",\"answers\":%s}".formatted(digest,
                base64url(id.toByteArray()), token == null ? "" : ",\"client\":\"" + token + '"', round, answers);
        }
    }

    static String answer(Table test) throws GeneralSecurityException {
        String checked = "scheme";
        try {
            Scheme scheme = new Scheme(test.table("bundle"), test.text("digest", null));
            checked = "record";
            Iterator<?> words = test.list("words").iterator();
            byte[] secret = test.get("secret") == null ? null : HexFormat.of().parseHex(test.text("secret", null));
            return scheme.report(test.table("record"), test.text("round", null), secret, () -> (Long) words.next());
        } catch (RuntimeException refused) {
            return "{\"refused\":\"%s\"}".formatted(refused instanceof NoSuchElementException ? "words" : checked);
        }
    }
    public static void main(String[] arguments) throws IOException, GeneralSecurityException {
        var lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        var out = new PrintStream(System.out, true, UTF_8);
        for (String line; (line = lines.readLine()) != null; ) out.println(answer((Table) new Reader(line).value()));
    }
}
