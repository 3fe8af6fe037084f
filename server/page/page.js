// What a page can do without, and is nicer with: buttons that copy, and lists that are filtered as one types.
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
	if (!navigator.clipboard) continue; // over plain HTTP but from this machine there is none
	button.hidden = false;
	button.addEventListener("click", async () => {
		await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
		button.textContent = "Copied";
		setTimeout(() => (button.textContent = "Copy"), 2000);
	});
}

for (const field of document.querySelectorAll("input[data-filter]")) {
	const list = document.getElementById(field.dataset.filter);
	if (!list) continue;
	field.addEventListener("input", () => {
		const wanted = field.value.toLowerCase();
		for (const row of list.tBodies[0].rows)
			row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
	});
}
