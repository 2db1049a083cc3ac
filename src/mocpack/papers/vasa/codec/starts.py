"""Trained initial statistics of the planes of `rd-pca`; part of the format.

Made by `python tools/train_rd_pca.py`. A start for each class of the columns' table (whether a
column moves, its weight, the two parts of its mean), of the poses' (step, sample), of chunks'
(step, sample, coefficient) and of chunks' without temporal PCA (value): see `docs/coding.md`.
"""

from __future__ import annotations

from base64 import b85decode

import numpy as np

from mocpack.common.arrays import U8


def _start(text: str) -> U8:
    return np.frombuffer(b85decode(text), np.uint8)


COLUMNS = _start(
    "A^|BWDJdx_DJdx_AOQgZ0RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40VyddDJdx_DJdx_DJd"
    "x_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_D"
    "Jdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx_DJdx+ARr(hARr(hARr(hARr(hARr(hARr(hARr("
    "hARr(kAtxm%CMqN%C?g{rA|@g(F+M&%K0ZD^K0ZD^CpAAcC?+vCJu@~xKR+fYD>5=KEh{J`DKtMnBqu2-D=aH4Cn"
    "P2~I4me8DlIK8GBGSDD?2wdCMYH+C@U*0EGH~8JToXMCnF&wEi*4GFE}eJB_$~)BO@auEGQ}}CLts!C?_W_D=8)<"
    "Bqk>!B_}B-CMP8(CnzT-Bq1gwBqb*)A|@sw5fKp)BO@atBO@atBO@atBO@v%A|e$CARr(hARr(hARr(hARr(hARr"
    "(hARr(hARqw&0RaI40RaI42nZk`AOQgZ0RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40"
    "RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI40RaI"
    "40RaI40RaI40RaI40RaI40RaI40SE{P2nYxW2nYxW2nYxW2nYxW2nYxW2nYxW2p}LJARr(hARr(hARr(hARr(hAR"
    "r(hARr(hARr(hAR!hY9~>bdA|oUxDIg#qC@d~7FEKGQGBh$YGd3kCCn_l^D<vu}DKjl8DJ3Q+DJv{2EG#WCE-Wf4"
    "EGZ@?Dk?52EiEr9C@Lr}D=I86Ff1%GFES}AFD)-ED<~-`Dk?25C@U>5EHE)GFEA=AEG;K1FD@)DFfKJPFD^1OCn+"
    "y4E-x-FFEBANH8dzHEiNrFE-*4PGBYwYD=aK7E-)@IF)}eSF*7bPGBYwXG&MCfHa0akH8CzNDk&%?B_tywA|W9i8"
    "x<fRARr(hARr(hARr(h"
)


POSES = _start(
    "EF>QyBPS>-FE2GUKPEpQEI&UtH#IXdH!w0UFBcUN5fKp)5fKp)5fKp=78e&67Z(>77Z(>77aJNK8yg!N8yg!N8yg"
    "!O8yFZE7#J8B7#J8B7#|oQ6B82?6B82?6B8329UB`P8yg!N8yg!N8zmnc7#J8B7#J8B7#J8PARZqd8X6iJ8X6iJ8"
    "YU(uCLtdj7Z(>77Z(>VD=aK09v>ba9v&VZ9yK*JH8nLgH8nLgH8nLaD<v8WARr(hARr(hARr(hARr(hARr(hARr("
    "hARr(W93CMeBqb*)DlIV}ARrwjCn+i`EG#WAE-x@H9U>$qC@Lx|D=jW8EiWA*BP1p$C@Lx|DJm^1A0Z+nB_<~*Dl"
    "022D=Q!(A|xaxCMPH=Dk~}~A|fLsB_$>%CnzW>Dk&r+Bqb##CnhH-C@Co^CMG5(CMG8*CnzW=DJdu?C@3f>C@3f?"
    "DJdx`Dk>@}Dk>@}Dk>@~D=RH7E-o%EE-o%EE-o%EF*7tYH8nLfG&MCfH8n3RDJLZ(A|W6jA0Hth9UT}TARr(hARr"
    "(hARr(hARq"
)


TRAJECTORIES = _start(
    "Fef7>CMYZ`FfKMWKO#RTF*`juIW{#lH8M0XFdP^f5)u*;5)u*;5)u*{8W<4~5fKp)5fKp)5g!~I6%`c~6%`c~6%`"
    "d992gcB78Vv378Vv379kxP859&06ciK`6ciLAARHSV9UUDV9UUDV9VQ_j9Ul`D6B82?6B83ABp)Fi9UL4S92^`R9"
    "4RL!B_kvvCL<*zBqSp?Ha06KBO@RtA|4(d9yT^MHa0dkHa0dkHa0dcDkB#PARr(hARr(hARr(hARr(hARr(hARr("
    "hARr(eAt56qCMYT_E-^G9ARrqbBPAv$CMPH<C?_W>933GfB_$>&CnqN-Co3EsAR;6sB_<{(C@3i^9UdSeBPAs!CM"
    "PH+C@LQxAtEFrB_$>%C?_W;At50mBO@dwB_$>&CnqE$BO@dvBqb##CnqN-CMG2%B_$;$CMG8*CnqT=C?_Z<CnqQ<"
    "C@3f>D=R80Dk>@}Dk>@}Dk&~5E-o!DE-fuBEiElAF)=bSGBYzWGBYwWGcqeEB_bdoAR!?kARikQARr(hARr(hARr"
    "(hARr(hARrqbAR;6sCMYT_E-xS;AQ&JeCn+i{EG{oCFf%Y3A0s9wDl054EG{uEF&rKtBqk^+D=RE5GA=9~A0Z<oC"
    "MYQ@DlRN7FCQNvA|xdyCnzZ^EGsD?AtE9qB_<~*DJUu_D<dN#BP1myCMPE-DJdx>B_$;$CMG5)CnzW>Dkmo=CnqN"
    ";C@3f?DJUu_Dk>@}Dk>@}Dk>@}DlIN8E-fuCE-fxDE-o%FGBPtXGcz<aG&D3cG%hSDCnY2!A|W9mAs`?h7Ze~MAR"
    "r(hARr(hARr(hAO"
)


FRAMES = _start(
    "6Bi>UC@L&2Ff%niHXsTVBq%N~Eio@TG&DLiIujoxBqb>)E-WY}EGaA!7a%4jCM+Z>Dk&)_FccRbA|od!GAbe}DI_"
    "i(7aAZXB_$>-DJd%`Dk2&g9U&tpC?+Q*C@Cu@A{`nWA|xazCMYH*D=8-=As-zcAS5ItC@U!}Dk&%?BqAXoA0HwmC"
    "NC~6Ei5Z4DJUl=CMG2_G&3?XGBPnSF)%PMFFQIrJ32Z!IyyNyH#j*jEGZ`?BqJgs9~J{3ARr(hARr(hARr(hARr("
    "hARr("
)
