// The keywords of the plan schema that JSON Schema does not have: the base unit of a quantity, for editors and documentation,
// the assumption that stands in for an option of a topology, the kinds of which a value is a catalogue id, and what editors
// say of a text that does not fit a pattern.
module.exports = (ajv) => { ajv.addKeyword("x-unit"); ajv.addKeyword("x-assumption"); ajv.addKeyword("x-catalog"); ajv.addKeyword("patternErrorMessage"); return ajv; };
