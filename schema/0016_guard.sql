-- Version 16: a copy of a private or gated repository records who may make the copy public.

ALTER TABLE repo ADD COLUMN guard INTEGER; -- of a copy of a private or gated repository: the account whose admin alone makes it public; -1: an operator alone; NULL: nobody else
