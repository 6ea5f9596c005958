// Examples to start from: a grammar, a prompt, and a text that shows something.

const record = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });
const shortText = { type: "string", minLength: 1, maxLength: 24 };
const amount = { type: "number", minimum: 0, maximum: 10000 };

const invoice = record({
  number: { type: "string", pattern: "^[A-Z]{2}-[0-9]{4}$" },
  date: { type: "string", format: "date" },
  customer: shortText,
  items: { type: "array", items: record({ name: shortText, price: amount }), minItems: 1, maxItems: 2 },
  total: amount,
  currency: { enum: ["EUR", "USD", "GBP"] },
});

const person = record({
  name: { type: "string", minLength: 1, maxLength: 30 },
  age: { type: "integer", minimum: 0, maximum: 150 },
  city: { enum: ["Paris", "Rome", "Oslo"] },
});

const tag = {
  type: "structural_tag",
  format: {
    type: "triggered_tags",
    triggers: ["<call="],
    at_least_one: true,
    tags: [
      {
        type: "tag",
        begin: "<call=weather>",
        content: {
          type: "json_schema",
          json_schema: record({ city: { type: "string" } }),
        },
        end: "</call>",
      },
    ],
  },
};

const pretty = (value) => JSON.stringify(value, null, 2);

export const EXAMPLES = [
  {
    name: "A person (JSON Schema)", kind: "json", grammar: pretty(person),
    prompt: "Ada Lovelace is 36 years old and lives in Rome. Give her data in JSON.",
    text: '{"name": "Ada Lovelace", "age": 36, "city": "London"}',
  },
  {
    name: "An invoice (JSON Schema)", kind: "json", grammar: pretty(invoice),
    prompt: "Extract the invoice as JSON with number, date, customer, items, total, currency. Invoice number: DE-0042. "
      + "Date: 2026-03-01. Customer: Ann Miller. Items: 2 chairs (190.00), 1 table (120.50). Total: 310.50. Currency: EUR.",
    text: '{"number": "DE-0042", "date": "2026-03-01", "customer": "Ann Miller", '
      + '"items": [{"name": "table", "price": 120.5}], "total": 310.5, "currency": "EUR"}',
  },
  {
    name: "A date (regex)", kind: "regex", grammar: "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    prompt: "When did people first walk on the Moon? Give the date as YYYY-MM-DD.", text: "1969-07-20",
  },
  {
    name: "Arithmetic (EBNF)", kind: "grammar",
    grammar: 'root   ::= term (("+" | "-") term)*\nterm   ::= factor (("*" | "/") factor)*\n'
      + 'factor ::= number | "(" root ")"\nnumber ::= [1-9] [0-9]{0,2}\n',
    prompt: "Write 12 times 3 plus 5 as a formula.", text: "12*(3+4)-5",
  },
  {
    name: "A greeting (Lark)", kind: "lark",
    grammar: 'start: greeting ", " NAME "!"\ngreeting: "Hello" | "Good " ("morning" | "evening")\nNAME: /[A-Z][a-z]{1,12}/\n',
    prompt: "Greet Alice.", text: "Good morning, Alice!",
  },
  {
    name: "Sentiment (choices)", kind: "choice", grammar: "positive\nnegative\nneutral",
    prompt: "The food was cold and the waiter rude. Is this review positive, negative or neutral?", text: "negative",
  },
  {
    name: "A tool call (structural tag)", kind: "structural_tag", grammar: pretty(tag),
    prompt: 'Write <call=weather>{"city": "Paris"}</call>.',
    text: '<call=weather>{"city": "Paris"}</call> One moment, please.',
  },
];
