/* The metadata at the head of a README.md, as far as a hub judges it. Pure. */
#ifndef CAIRN_HUB_CARD_H
#define CAIRN_HUB_CARD_H

/** What is wrong with a README.md. Static texts, for people. */
struct cairn_hub_card {
	const char *error;   /* NULL: nothing */
	const char *warning; /* NULL: nothing */
};

/** Look at the lines between "---" and "---" that a README.md may begin with: "license" names one that is known, or
 * several, and "model-index" is a list. All else is its author's matter. */
void cairn_hub_card_judge(struct cairn_hub_card *out, const char *text);

#endif
