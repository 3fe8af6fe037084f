// Uploads to a server of another origin and downloads from it, as a JavaScript client does. The upload was prepared
// beforehand; what comes back is unpacked and compared here.
import { chunks, joined, parts } from "./xet.js";

const order = await (await fetch("order.json")).json();
const bearer = { Authorization: `Bearer ${order.token}`, "X-Xet-Session-Id": "browser-1" };

function check(truth, what) {
	if (!truth) throw new Error(what);
}

const same = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
const own = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

async function call(path, init = {}) {
	const reply = await fetch(path.startsWith("http") ? path : order.cas + path, init);
	check(reply.type === "cors", `${path} is not of another origin: ${reply.type}`);
	return reply;
}

async function upload(xorb) {
	check((await call(`/v1/chunks/default/${order.unknown_chunk}`, { headers: bearer })).status === 404, "an unknown chunk is known");
	for (const inserted of [true, false]) {
		const reply = await call(`/v1/xorbs/default/${order.xorb}`, { method: "POST", headers: bearer, body: xorb });
		check(reply.status === 200 && (await reply.json()).was_inserted === inserted, `xorb: ${reply.status}`);
	}
	const first = await call("/v1/shards", { method: "POST", headers: bearer, body: await own("first.shard") });
	check(first.status === 200 && (await first.json()).result === 1, `shard: ${first.status}`);
	const second = await call("/v2/shards", { method: "POST", headers: bearer, body: await own("second.shard") });
	const frames = (await second.text()).trim().split("\n").map((line) => JSON.parse(line));
	check(frames.at(-1).type === "result", `the last frame is ${JSON.stringify(frames.at(-1))}`);
}

/* Fetches the serialized chunks of one address, by their place in the xorb. */
async function fetchChunks(entry, xorb) {
	const asked = entry.ranges.map((r) => `${r.bytes.start}-${r.bytes.end}`).join(",");
	const reply = await call(entry.url, { headers: { Range: `bytes=${asked}` } });
	check(reply.status === 206, `fetch: ${reply.status}`);
	const body = new Uint8Array(await reply.arrayBuffer());
	const pieces =
		entry.ranges.length > 1
			? parts(reply.headers.get("Content-Type"), body)
			: [{ first: Number(/^bytes (\d+)-/.exec(reply.headers.get("Content-Range"))[1]), bytes: body }];
	check(pieces.length === entry.ranges.length, `${pieces.length} parts`);
	const out = new Map();
	pieces.forEach((piece, i) => {
		const { bytes, chunks: places } = entry.ranges[i];
		check(piece.first === bytes.start, `part ${i} starts at ${piece.first}`);
		check(same(piece.bytes, xorb.subarray(bytes.start, bytes.end + 1)), `part ${i} has other bytes than were sent`);
		const raw = chunks(piece.bytes);
		check(raw.length === places.end - places.start, `part ${i} has ${raw.length} chunks`);
		raw.forEach((chunk, k) => out.set(places.start + k, chunk));
	});
	return out;
}

async function download(file, xorb, range) {
	const headers = range ? { ...bearer, Range: `bytes=${range[0]}-${range[1]}` } : bearer;
	const reply = await call(`/v2/reconstructions/${file}`, { headers });
	check(reply.status === 200, `reconstruction: ${reply.status}`);
	const plan = await reply.json();
	const held = new Map();
	let nRanges = 0;
	for (const entry of plan.xorbs[order.xorb]) {
		nRanges = Math.max(nRanges, entry.ranges.length);
		for (const [place, chunk] of await fetchChunks(entry, xorb)) held.set(place, chunk);
	}
	const pieces = [];
	for (const term of plan.terms) {
		check(term.hash === order.xorb, "a term of another xorb");
		for (let i = term.range.start; i < term.range.end; i++) pieces.push(held.get(i));
	}
	const whole = joined(pieces).subarray(plan.offset_into_first_range);
	return { bytes: range ? whole.subarray(0, range[1] - range[0] + 1) : whole, nRanges };
}

async function sha256(bytes) {
	const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	return Array.from(digest, (b) => b.toString(16).padStart(2, "0")).join("");
}

async function downloads(xorb) {
	const whole = await download(order.first.hash, xorb);
	check((await sha256(whole.bytes)) === order.first.sha256, "the first file has another SHA-256");
	const [from, to] = [100001, 900000];
	const part = await download(order.first.hash, xorb, [from, to]);
	check(same(part.bytes, whole.bytes.subarray(from, to + 1)), "a range has other bytes than the file");

	const all = chunks(xorb);
	const expected = joined(order.second.terms.flatMap(([start, end]) => all.slice(start, end)));
	const second = await download(order.second.hash, xorb);
	check(same(second.bytes, expected), "the second file has other bytes");
	check(second.nRanges === order.second.ranges, `${second.nRanges} ranges in one address`);
	return { whole: whole.bytes.length, part: part.bytes.length, second: second.bytes.length, ranges: second.nRanges };
}

async function refusals() {
	const reply = await call(`/v2/reconstructions/${order.first.hash}`);
	check(reply.status === 401, `without a token: ${reply.status}`);
	const { error, request_id: id } = await reply.json();
	check(error.code && reply.headers.get("X-Request-Id") === id, "a refusal that the page cannot read");
	const edit = { ...bearer, "X-Range-Dirty": "bytes=0-0" };
	const chunkHashes = await call(`/v2/file-chunk-hashes/${order.first.hash}`, { headers: edit });
	check(chunkHashes.status === 200 && (await chunkHashes.json()).windows.length === 1, `edit: ${chunkHashes.status}`);
}

async function run() {
	const xorb = await own("xorb");
	await upload(xorb);
	const done = await downloads(xorb);
	await refusals();
	return done;
}

const said = await run().then(
	(done) => ({ done }),
	(error) => ({ error: String(error), stack: error.stack }),
);
document.getElementById("said").textContent = JSON.stringify(said);
await fetch("said", { method: "POST", body: JSON.stringify(said) });
