// The one keyword of the plan schema that JSON Schema does not have: the base unit of a quantity, for editors and documentation.
module.exports = (ajv) => { ajv.addKeyword("x-unit"); return ajv; };
