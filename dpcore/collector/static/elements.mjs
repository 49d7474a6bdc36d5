/** An element with properties, attributes and children. */
export function make(tag, { attributes = {}, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const inWords = (name) => name.replaceAll("_", " ");

/** The title of an attribute, of a column of a joint attribute, or of a label. */
export const titleOf = ({ name, title, key, column }) => title || inWords(key ? column : name);

/** The title of a category. */
export const categoryOf = ({ titles }, category) => titles?.get(category) ?? category;
