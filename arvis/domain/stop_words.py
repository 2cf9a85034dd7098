"""Words that occur in most texts of a language, such as articles and pronouns. A ranked search ignores them, but uses
them to recognise the language of a question. The words are in the form of `domain.search`: in lower case and without
accents."""

from __future__ import annotations

from collections.abc import Collection, Sequence

#: The stop words by the code of the language (ISO 639-1).
STOP_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": """
            a about after again all also am an and any are as at be because been before being both but by can could did do
            does doing don down each few for from had has have having he her here hers him his how i if in into is it its
            just me more most my no nor not of off on once only or other our out over own s same shall she should so some
            such t than that the their them then there these they this those to too under until up very was we were what
            when where which while who whom whose why will with would you your ll re ve d m o didn doesn isn wasn aren
            weren hasn haven hadn won wouldn couldn shouldn didn't doesn't isn't wasn't
            """,
        "de": """
            aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da
            damit dann das dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort
            du durch ein eine einem einen einer eines er es euch euer fur gegen hab habe haben hat hatte hatten hier hin
            ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinen
            konnen man mein meine meinem meinen meiner mich mir mit nach nicht nichts noch nun nur ob oder ohne sehr sein
            seine seinem seinen seiner sich sie sind so uber um und uns unser unsere unter viel vom von vor war waren warum
            was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will wir wird
            wo wofur woher wohin womit wovon wurde wurden zu zum zur zwischen
            """,
        "es": """
            a al algo algun alguna algunas alguno algunos ante antes aquel aquella asi aun aunque cada como con contra cual
            cuales cuando cuanta cuantas cuanto cuantos de del desde donde adonde dos durante e el ella ellas ellos en entre
            era eran es esa esas ese eso esos esta estaba estan estar estas este esto estos fue fueron ha habia han has hasta
            hay he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otros para pero poco por
            porque que quien quienes se ser si sido sin sobre son su sus tambien tanto te tenia tiene tienen todo todos tu
            tus un una uno unos va y ya yo
            """,
        "fr": """
            a ai as au aux avait avec avoir c ce ces cet cette combien comme comment d dans de des du elle elles en est et
            etaient etait ete etre eu il ils j je l la le les leur leurs lui m ma mais me meme mes moi mon n ne nos notre
            nous on ont ou par pas plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si
            son sont sur t ta te tes toi ton tu un une vos votre vous y
            """,
        "it": """
            a ad agli ai al alla alle allo anche che chi ci come con cosa cui da dagli dai dal dalla dalle dei del della
            delle dello di dove e ed era erano gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia mie miei
            mio ne negli nei nel nella nelle noi non nostra nostro o per perche piu qual quale quali quando quanti quanto
            quella quello questa questo se sei si sia sono sta su sua sue sui sul sulla suo suoi ti tra tu tua tuo un una
            uno vi voi
            """,
        "pt": """
            a ao aos as ate com como da das de dela dele deles do dos e ela elas ele eles em entre era eram essa esse esta
            estao estava este eu foi foram ha isso isto ja la lhe mais mas me mesmo meu meus minha muito na nao nas nem no
            nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto quantos que
            quem se sem ser seu seus so sua suas tambem te tem tinha um uma umas uns voce voces
            """,
        "nl": """
            aan al alles als altijd andere ben bij daar dan dat de der deze die dit doen door dus een en er ge geen had heb
            hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je kan kon kunnen maar me meer men met
            mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw van
            veel voor waar waarom wanneer want waren was wat we wel welk welke werd wie wil worden zal ze zich zij zijn zo
            zonder zou
            """,
        "sv": """
            alla att av blev bli blir da de dem den denna deras dess dessa det detta dig din dina dit du efter ej eller en
            er ett fran for ha hade han hans har henne hennes hon honom hur i icke ingen inom inte jag ju kan kunde man med
            mellan men mig min mina mitt mot mycket nar nagon nagot nu och om oss pa sa sadan samma sedan sig sin sina sitta
            sjalv skulle som till under upp ut vad var vara varfor varit vars vem vi vid vilka vilken vilket ar over
            """,
        "ru": """
            а без бы был была были было быть в вам вас вдруг ведь весь во вот все всегда всего всех вы где да даже для до
            его ее ей ему если есть еще же за здесь и из или им их к как какая какие какои когда кого кому кто куда ли мне
            может мои мы на над надо наш не него нее неи нет ни них но ну о об он она они оно от очень по под после потому
            почему при про с сам свое свои себе себя со так там тебя тем то тогда тоже только том тот ты у уже хоть чего
            чеи чем через что чтобы эта эти это этого этои этом этот я
            """,
    }.items()
}
#: Pairs of characters without content, as `domain.search` makes them from Chinese and Japanese questions.
_DENSE = frozenset(
    {
        *(
            "什么",
            "甚么",
            "为什",
            "为何",
            "怎么",
            "怎样",
            "哪里",
            "哪个",
            "哪位",
            "哪些",
            "是谁",
            "谁是",
            "是多",
            "多少",
            "几个",
        ),
        *(
            "时候",
            "是什",
            "的是",
            "我们",
            "你们",
            "他们",
            "一个",
            "です",
            "ます",
            "でし",
            "した",
            "どこ",
            "いつ",
            "だれ",
        ),
    }
)
#: The most likely language of a question is the language with the most stop words in it. Another language is possible
#: if the question contains at least this share of that number of stop words: with 0.5, half as many.
_LIKELY = 0.5


def languages_of(words: Collection[str]) -> Sequence[str]:
    """Return the codes of the probable languages of a text with these words, most likely first. If the words show no
    language, return all codes."""
    counts = {code: len(stop_words.intersection(words)) for code, stop_words in STOP_WORDS.items()}
    most = max(counts.values())
    found = [code for code, count in counts.items() if count >= max(1, most * _LIKELY)] or [*STOP_WORDS]
    return sorted(found, key=lambda code: -counts[code])


def without_stop_words(words: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Return the words that have content in these languages, without duplicates. If no word has content, return all
    words."""
    different = [*dict.fromkeys(words)]
    # If the language is unknown, ignore only `_DENSE`: a stop word of one language may be a name in another one.
    ignored = _DENSE.union(*(STOP_WORDS[code] for code in languages)) if len(languages) < len(STOP_WORDS) else _DENSE
    return [word for word in different if word not in ignored] or different
