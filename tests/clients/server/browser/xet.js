// What a page needs of the protocol to read files: multipart answers, chunks of a xorb, their compression.

const text = (bytes) => new TextDecoder("latin1").decode(bytes);

function find(bytes, wanted, from) {
	const first = wanted.charCodeAt(0);
	for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
		if (text(bytes.subarray(at, at + wanted.length)) === wanted) return at;
	}
	return -1;
}

/** Splits multipart/byteranges into parts: [{ first, last, total, bytes }]. */
export function parts(contentType, body) {
	const boundary = /^multipart\/byteranges; *boundary="?([^";]+)"?$/i.exec(contentType);
	if (!boundary) throw new Error(`not multipart/byteranges: ${contentType}`);
	const out = [];
	let at = find(body, `--${boundary[1]}`, 0);
	for (;;) {
		at += boundary[1].length + 2;
		if (text(body.subarray(at, at + 2)) === "--") return out;
		const headEnd = find(body, "\r\n\r\n", at);
		const range = /content-range: *bytes (\d+)-(\d+)\/(\d+)/i.exec(text(body.subarray(at, headEnd)));
		if (headEnd < 0 || !range) throw new Error("a part without Content-Range");
		const [first, last, total] = range.slice(1).map(Number);
		at = headEnd + 4;
		out.push({ first, last, total, bytes: body.subarray(at, at + last - first + 1) });
		at += last - first + 1;
		if (text(body.subarray(at, at + 4 + boundary[1].length)) !== `\r\n--${boundary[1]}`) throw new Error("a part is longer than its range");
		at += 2;
	}
}

function lz4Length(input, at, start) {
	let n = start;
	if (start === 15) {
		let more;
		do {
			more = input[at++];
			n += more;
		} while (more === 255);
	}
	return [n, at];
}

/* Unpacks a block. It may refer to bytes of earlier blocks, so all blocks write to one output. */
function lz4Block(input, output, written) {
	let at = 0;
	while (at < input.length) {
		const token = input[at++];
		let n;
		[n, at] = lz4Length(input, at, token >> 4);
		output.set(input.subarray(at, at + n), written);
		at += n;
		written += n;
		if (at >= input.length) break; // a block ends with literals
		const back = input[at] | (input[at + 1] << 8);
		[n, at] = lz4Length(input, at + 2, token & 15);
		if (back === 0 || back > written) throw new Error("an offset before the start");
		for (n += 4; n > 0; n--, written++) output[written] = output[written - back];
	}
	return written;
}

function lz4Frame(input, length) {
	const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
	const output = new Uint8Array(length);
	if (view.getUint32(0, true) !== 0x184d2204) throw new Error("not an LZ4 frame");
	const flags = input[4];
	let at = 7 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0);
	let written = 0;
	for (;;) {
		const size = view.getUint32(at, true);
		const n = size & 0x7fffffff;
		at += 4;
		if (n === 0) break;
		const block = input.subarray(at, at + n);
		if (size >>> 31) {
			output.set(block, written);
			written += n;
		} else {
			written = lz4Block(block, output, written);
		}
		at += n + (flags & 16 ? 4 : 0);
	}
	if (written !== length) throw new Error(`${written} bytes, not ${length}`);
	return output;
}

/* Undoes byte grouping, in which every fourth byte stood together. */
function ungroup(bytes) {
	const out = new Uint8Array(bytes.length);
	let at = 0;
	for (let first = 0; first < 4; first++) for (let i = first; i < bytes.length; i += 4) out[i] = bytes[at++];
	return out;
}

/** Returns the raw chunks of a serialized xorb, one after the other. */
export function chunks(bytes) {
	const out = [];
	const u24 = (at) => bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
	for (let at = 0; at < bytes.length; ) {
		const packed = u24(at + 1);
		const scheme = bytes[at + 4];
		const length = u24(at + 5);
		const data = bytes.subarray(at + 8, at + 8 + packed);
		if (scheme > 2) throw new Error(`compression ${scheme}`);
		const plain = scheme === 0 ? data : lz4Frame(data, length);
		out.push(scheme === 2 ? ungroup(plain) : plain);
		at += 8 + packed;
	}
	return out;
}

export function joined(pieces) {
	const out = new Uint8Array(pieces.reduce((sum, p) => sum + p.length, 0));
	let at = 0;
	for (const p of pieces) {
		out.set(p, at);
		at += p.length;
	}
	return out;
}
