// main.mjs BASE NAME:PASSWORD: follows a server's catalogue to its end with two parsers, and prints what each saw.
//
// Each line is a word and its values. Whoever called compares them with what the server has.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const Parser = require("opds-feed-parser").default;
const { AcquisitionFeed } = require("opds-feed-parser");
const OtherFeed = require("opds-ts/v1.2").Feed;

const [base, pair] = process.argv.slice(2);
const headers = { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };

async function body(path) {
  const answer = await fetch(new URL(path, base), { headers });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}

// Every feed that links lead to is read once, by both parsers, which must see the same entries.
async function walk(path, seen) {
  if (seen.has(path)) return;
  seen.add(path);
  const text = await body(path);
  const parsed = await new Parser().parse(text);
  const other = OtherFeed.fromXml(text);
  const entries = other.getEntries();
  if (parsed.entries.length !== entries.length) throw new Error(`${path}: ${parsed.entries.length} entries`);
  const isFiles = parsed instanceof AcquisitionFeed;
  for (const entry of parsed.entries) {
    console.log(isFiles ? "file" : "place", entry.title);
    if (!entry.id || !entry.title || !entry.updated) throw new Error(`${path}: ${entry.title} lacks a field`);
    for (const link of entry.links) {
      if ((link.type ?? "").includes("profile=opds-catalog")) await walk(link.href, seen);
    }
  }
  const next = parsed.links.find((link) => link.rel === "next");
  if (next) await walk(next.href, seen);
}

const seen = new Set();
await walk("/opds/v1.2/catalog", seen);
console.log("feeds", seen.size);
console.log("done");
