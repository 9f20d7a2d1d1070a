// The keywords of the plan schema that JSON Schema does not have: the base unit of a quantity, for editors and documentation,
// and the assumption that stands in for an option of a topology.
module.exports = (ajv) => { ajv.addKeyword("x-unit"); ajv.addKeyword("x-assumption"); return ajv; };
