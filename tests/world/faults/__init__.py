"""What goes wrong. One class each: @fault() in any file of this folder."""
