"""Names of chapters as sites and files write them: name | number | volume, `-` where the name says none."""

TABLE = """
Vol.2 Ch.45.5 | 45.5 | 2
Vol. 2 Chapter 45.5 - The Road | 45.5 | 2
Extra | - | -
#12 | 12 | -
第12話 | 12 | -
45v2 | 45 | -
Season 2 Episode 3 | 3 | 2
Chapter 12 - 100 Ways | 12 | -
Chapter 1 | 1 | -
chapter 001 | 1 | -
Ch.1 | 1 | -
Ch. 1 | 1 | -
Ch 1: The Beginning | 1 | -
Ch.010.5 | 10.5 | -
ch1 | 1 | -
Chap 7 | 7 | -
Chapter-7 | 7 | -
Chapter_7 | 7 | -
Chapter #7 | 7 | -
Chapter No. 7 | 7 | -
Chapter 7: 3 Days Left | 7 | -
Chapter 7 Part 2 | 7 | -
Chapter 12a | 12.1 | -
Chapter 12b | 12.2 | -
Chapter 12 v2 | 12 | -
Chapter 12v3 (fixed) | 12 | -
Chapter 0 | 0 | -
Chapter 0.1: Prologue | 0.1 | -
Chapter 1000 | 1000 | -
Chapter 1,5 | 1.5 | -
Chapter Five | 5 | -
Chapter Twelve: Night | 12 | -
Chapter IV | 4 | -
Chapter XIX: Dawn | 19 | -
12 | 12 | -
012 | 12 | -
12.5 | 12.5 | -
12 - The Title | 12 | -
12. The Title | 12 | -
12: The Title | - | -
The Title 12 | 12 | -
The Title - 12 | 12 | -
Episode 1 | 1 | -
Ep. 1 | 1 | -
Ep. 100 - Finale | 100 | -
EP12 | 12 | -
Epi. 4 | 4 | -
[Season 2] Ep. 45 | 45 | 2
[S2] Episode 45 | 45 | 2
(S3) Ep. 110 - Rain | 110 | 3
S2E3 | 3 | 2
S02E03 | 3 | 2
s2 ep 14 | 14 | 2
2nd Season Episode 10 | 10 | 2
Season 3 - 5 | 5 | 3
Volume 3 | - | 3
Vol.03 | - | 3
Vol 3 Extra | - | 3
Volume 10 Chapter 95 | 95 | 10
Volume 1.5 Chapter 3 | 3 | 1.5
v2 c15 | 15 | 2
v02 ch015 | 15 | 2
v1c3 | 3 | 1
Vol.TBD Ch.12 | 12 | -
Vol.1 Ch.1 - A 2nd Chance | 1 | 1
Vol.1 Ch.1-2 | 1 | 1
Chapter 1-2 | 1.2 | -
Book 2 Chapter 8 | 8 | 2
Book 3, Page 14 | 14 | 3
Page 14 | 14 | -
Strip 221 | 221 | -
Issue #5 | 5 | -
Issue 5 | 5 | -
Mission 33 | 33 | -
Act 3 | 3 | -
Act.12: Heart | 12 | -
#12.5 | 12.5 | -
# 12 | 12 | -
#001 - Start | 1 | -
Comic #3021 | 3021 | -
Oneshot | - | -
One-shot | - | -
One Shot | - | -
Prologue | - | -
Epilogue | - | -
Afterword | - | -
Omake | - | -
Bonus | - | -
Special | - | -
Side Story | - | -
Side Story 3 | 3 | -
Extra 2 | 2 | -
Special 1.5 | 1.5 | -
Notice | - | -
Hiatus announcement | - | -
Author's note | - | -
番外編 | - | -
おまけ | - | -
読切 | - | -
第1話 | 1 | -
第１２話 | 12 | -
第 12 話 | 12 | -
第12.5話 | 12.5 | -
第十二話 | 12 | -
第百二十三話 | 123 | -
第二〇話 | 20 | -
第3巻 | - | 3
第3巻 第12話 | 12 | 3
第３巻　第１２話「春」 | 12 | 3
3巻12話 | 12 | 3
12話 | 12 | -
第12回 | 12 | -
第12话 | 12 | -
第12章 | 12 | -
第2卷 第8话 | 8 | 2
第2季 第8话 | 8 | 2
12화 | 12 | -
제12화 | 12 | -
시즌 2 12화 | 12 | 2
2권 12화 | 12 | 2
Capítulo 12 | 12 | -
Capitulo 12.5 | 12.5 | -
Cap. 12 | 12 | -
Tomo 3 Capítulo 12 | 12 | 3
Temporada 2 Capítulo 4 | 4 | 2
Chapitre 12 | 12 | -
Tome 2 Chapitre 12 | 12 | 2
Kapitel 12 | 12 | -
Band 4 Kapitel 30 | 30 | 4
Folge 12 | 12 | -
Rozdział 12 | 12 | -
Глава 12 | 12 | -
Том 2 Глава 12 | 12 | 2
Том 2. Глава 12.5 - Имя | 12.5 | 2
Bölüm 12 | 12 | -
Bab 12 | 12 | -
Chương 12 | 12 | -
Chap 12.5: Ngoại truyện | 12.5 | -
Episodio 12 | 12 | -
Episódio 12 | 12 | -
12th Chapter | 12 | -
2026-01-05 | - | -
Chapter 12 (2026-01-05) | 12 | -
Chapter 12 [1080p] | 12 | -
Chapter 12 [Group 7] | 12 | -
[Group 7] Chapter 12 | 12 | -
[99 Scans] 12 | 12 | -
12 [99 Scans] | 12 | -
12 (v2) | 12 | -
[12] | 12 | -
(12) The Title | - | -
100 Ways to Go | 100 | -
The 100 Girls and 1 Boy | - | -
50% off | - | -
Room 4:30 | - | -
1/2 | - | -
ep01_Potion-of-Flight | 1 | -
chapter-12-5 | 12.5 | -
chapter-12 | 12 | -
my-series-chapter-12 | 12 | -
my_series_ch_0012.cbz | 12 | -
Series Name v03 (2019) (Digital) | - | 3
Series Name 003 (2019) (Digital) | 3 | -
Series Name c012 (v02) | 12 | 2
Series Name - c012.5 (mag) [Group] | 12.5 | -
Technicolor 12 | 12 | -
Tech12 | - | -
Episode 12 & 13 | 12 | -
Chapters 12-13 | 12 | -
Ch.12 (Season 3) | 12 | 3
Season 2 Chapter 4.5 | 4.5 | 2
Season 2 Finale | - | 2
S2 Finale | - | 2
It's 5 O'Clock | 5 | -
Vitamin C 12 | 12 | -
Ch. 3 - Don't 4 Get | 3 | -
Ch. 3 - Mr. T 1000 | 3 | -
Chapter ??? | - | -
Chapter TBD | - | -
Chapter | - | -
... | - | -
Ch.1e9 | 1 | -
"""


def rows() -> list[tuple[str, str, str]]:
    return [tuple(part.strip() for part in line.rsplit("|", 2)) for line in TABLE.strip().splitlines()]  # type: ignore[misc]  # rsplit by 2 gives three parts
