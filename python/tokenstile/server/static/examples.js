// Examples to start from: a grammar, a prompt, and a text that shows something.

const invoice = {
  type: "object",
  properties: {
    number: { type: "string", pattern: "^[A-Z]{2}-[0-9]{4}$" },
    date: { type: "string", format: "date" },
    total: { type: "number", minimum: 0 },
    currency: { enum: ["EUR", "USD", "GBP"] },
    items: {
      type: "array",
      minItems: 1,
      maxItems: 3,
      items: {
        type: "object",
        properties: { name: { type: "string", maxLength: 30 }, count: { type: "integer", minimum: 1 } },
        required: ["name", "count"],
        additionalProperties: false,
      },
    },
  },
  required: ["number", "date", "total", "currency"],
  additionalProperties: false,
};

const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 30 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    city: { enum: ["Paris", "Rome", "Oslo"] },
  },
  required: ["name", "age", "city"],
  additionalProperties: false,
};

const tag = {
  type: "structural_tag",
  format: {
    type: "triggered_tags",
    triggers: ["<call="],
    tags: [
      {
        type: "tag",
        begin: "<call=weather>",
        content: {
          type: "json_schema",
          json_schema: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: false,
          },
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
    prompt: "Invoice DE-0042 of 1 March 2026: two chairs and a table, 310.50 euros. Give it in JSON.",
    text: '{"number": "DE-0042", "date": "2026-03-01", "total": 310.5, "currency": "EUR"}',
  },
  {
    name: "A date (regex)", kind: "regex", grammar: "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    prompt: "When did people first walk on the Moon? Give the date as YYYY-MM-DD.", text: "1969-07-20",
  },
  {
    name: "Arithmetic (EBNF)", kind: "grammar",
    grammar: 'root   ::= term (("+" | "-") term)*\nterm   ::= factor (("*" | "/") factor)*\n'
      + 'factor ::= number | "(" root ")"\nnumber ::= [0-9]+\n',
    prompt: "Write a sum with three numbers.", text: "12*(3+4)-5",
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
    text: 'Let me look. <call=weather>{"city": "Paris"}</call>',
  },
];
