# black-box verbs programs run under efasim
