"""What this package knows of English: words that tell little, words that can be said otherwise, and word forms.

Nothing here is about any documents. A stem is always the beginning of the word, so that a search for it, which looks
inside words, finds the other forms as well.
"""

import re
from functools import lru_cache


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _set_of(
    """a about above after again against all also although always am an and another any anyone anything are aren as
    at be because been before being below between both but by can cannot could couldn d did didn do does doesn
    doing don done down during each either else etc even ever every few for from further had hadn has hasn have
    haven having he hello her here hers hey hi him his how i if in instead into is isn it its itself just let ll
    lot lots m many may me might mine more most much must my myself never no nor not now of off often on once one
    only or other our ours out over own perhaps please re s same shall she should shouldn since so some somehow
    someone something still such t than thank thanks that the their them themselves then there these they this
    those through thus to too under until up upon us ve very was wasn we were what whatever when where whether
    which while who whom whose why will with within without won would wouldn yes yet you your yours"""
)
"""Words that are in every text."""

OTHER_STOP_WORDS = _set_of(
    """auf aus bei bin bis das dem den der des die durch ein eine einem einen einer es für gibt haben hat ich ihr ist kann
    kein lange man mit nach nicht oder sich sie sind und unter viel viele vom von wann warum was welche welcher welches
    wenn wer wie wird wo zu zum zur au aux avec ce ces cette combien comment dans de des du elle en est et il la le les
    où par pas pour pourquoi quand que quel quelle quels qui quoi sont sur un une como cómo con cuál cuándo cuánto cuántos
    del dónde el ella ellos es esta este los las para pero por porque qué quién se ser si sin sobre son su sus una y"""
)
"""The same of three neighbours: the documents may be in another language, and a question in theirs is a right one."""

LIGHT_WORDS = _set_of(
    """able actually allow amount answer ask better call care case certain come correctly day deal doc docs
    document documentation exactly example explain far fine four get give go goes good guess happen help idea
    instance kind know last less like little look made main make manual matter mean mind need next normally number
    page part people person place possible possibly problem properly purpose put question quickly quite rather real
    really reason recommend right said say second see seem set several show simply sort support suppose sure take
    tell thing think three time try two type understand use used useful user uses using usually want way well wish
    wonder word work world wrong"""
)
"""Words that questions are made of, whatever they are about."""

LOOSE_WORDS = _set_of(
    """absolute accept access accidental achieve activate adapt add adjust advantage advise affect aim alter
    alternative analyse annoying appear append apply approach appropriate arrange aspect assign assume attach
    attempt average avoid bad basic become begin behave behavior behaviour belong benefit best big bit brief bring
    broad broken build busy cap carry catch cause chance change cheap check choice choose clean clear close collect
    combine common compare compatible complain complete complex concern condition configure confirm consequence
    consider consist constant construct contain continue contribute control convenient convert cope correct count
    couple cover crash create current custom customise customize cut damage danger deactivate debug decide declare
    decrease deep default define delay delete deliver demand depend derive describe detail detect determine develop
    differ difference different difficult direct directly disable disappear discard display distinct distribute
    divide double drop duplicate duration early easy edit effect effective efficient effort eliminate emit empty
    enable end enforce enlarge ensure enter entire equal equivalent erase estimate evaluate exact examine exceed
    exchange exclude execute exist existing exit expand expect expensive experience explicit extend external extra
    extract fail fall familiar fancy fast feature fetch fill filter final find finish first fit fix flexible follow
    forbid force forever forget format free frequent fresh full gain gather general generate global goal good grab
    great group grow guarantee guideline habit half handle happy hard heavy hidden hide high hint hold huge ideal
    identical identify illegal immediate implement implication imply important improve inactive include incoming
    incorrect increase indicate individual inform initial initiate inner insert inspect intend interact interesting
    internal invoke involve isolate issue item job join keep lack large late launch lead learn leave legal length
    level lie life likely limit link list load long loose lose low maintain major manage manipulate match maximal
    maximum meaning meant measure meet mention merge method migrate minimal minimum minor miss missing mistake mix
    modern modify moment monitor move multiple name narrow natural nearby neat necessary negative new nice normal
    note notice obtain obvious occasion occur odd offer official okay old omit open operate opposite optimal
    optimise optimize option optional order ordinary organise organize original outer overall override parallel
    parse partial particular pass pause perfect perform permanent permit pick piece pitfall plain plan play plug
    point popular positive potential powerful practical practice precise prefer prepare present preserve prevent
    previous primary print prior proceed process produce progress promise proper protect prove provide pull push
    quick quiet quit raise random range rare reach react read ready receive recent recognise recognize record
    recover reduce refer refuse regular reject relate relative release relevant reliable remain remember remind
    remove rename repeat replace report represent require reset resolve respect respond responsible rest restart
    restore restrict result retain retrieve return reuse reveal revert rewrite risk rough route rule run safe save
    scale search secondary select send sensible separate serious serve setup share sharp shift short shortcut
    shorten shut significant silence silent similar simple simultaneous single situation size skip slow small smart
    smooth soft sole solution solve sound special specific specify speed spend split spread stable standard start
    state stay steady step stop store straight strange strict strip strong stuff style submit succeed success
    sudden suffer sufficient suggest suit suitable supply suppress surround survive swap switch tall task temporary
    tend terminate throw tidy tight tiny tip together total touch tough trace track traditional transfer transform
    treat trick trigger trouble true trust turn tweak typical ugly unable unexpected unify unique unknown
    unnecessary unusual update usable usual valid valuable value various vary vast verify version view visible
    visit wait walk warm watch weak weird whole wide wild wrap write young"""
)
"""Common verbs, adjectives and vague nouns: documents may well say the same with other words."""

SYNONYMS = tuple(
    _set_of(line)
    for line in """
advantage benefit gain help
allow permit
answer reply response
bad wrong incorrect invalid
begin start launch
big large huge
blank empty
busy full
buy purchase
change modify alter adjust edit replace
choose pick select
close shut
combine merge join mix unify
concurrent parallel simultaneous
copy duplicate clone
cut trim truncate
delete remove erase drop discard
describe explain
directory folder
disable deactivate off
divide split separate
earlier previous former old
enable activate
end finish stop terminate
error exception failure fault
exchange swap
fail break crash
fix repair solve resolve
forbid refuse reject deny
forever ever endless
get obtain fetch retrieve
give provide supply
hide conceal mask
hold contain include
idle inactive unused
image picture photo
invoke call
join attach connect
keep retain preserve remain stay
limit maximum max most largest longest highest cap
make create build
minimum min least smallest lowest shortest
money cash
must need require
often frequently
pause wait
price cost
quick fast rapid
quiet silent silence mute
run execute
safe secure
send submit transmit
show display print
small tiny little
standard default usual
total overall whole entire
vanish disappear
verify check validate
watch observe monitor
""".strip().splitlines()
)

PHRASAL_VERBS = {
    ("back", "up"): "backup",
    ("get", "rid"): "remove",
    ("look", "up"): "find",
    ("log", "in"): "login",
    ("shut", "down"): "shutdown",
    ("sign", "in"): "login",
    ("switch", "off"): "disable",
    ("switch", "on"): "enable",
    ("turn", "off"): "disable",
    ("turn", "on"): "enable",
}
"""Two words, the second perhaps a few words later, that mean one."""


def _pairs_of(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


_IRREGULAR = _pairs_of(
    """began:begin begun:begin bought:buy broke:break broken:break brought:bring built:build caught:catch
    children:child chose:choose chosen:choose fallen:fall fell:fall felt:feel found:find gave:give given:give
    grew:grow grown:grow held:hold hidden:hide kept:keep knew:know known:know laid:lay lain:lie led:lead lost:lose
    meant:mean met:meet paid:pay ran:run risen:rise rose:rise seen:see sent:send shown:show slept:sleep sold:sell
    sown:sow spent:spend spoke:speak spoken:speak stole:steal stolen:steal stood:stand stuck:stick taken:take
    threw:throw thrown:throw told:tell took:take tore:tear torn:tear went:go wore:wear worn:wear written:write
    wrote:write"""
)

_LOOSE_ENDINGS = ("ly", "ful", "less", "able", "ible", "ous", "est")
_VOWEL = re.compile("[aeiouy]")
_ENDINGS = (
    ("ational", 4), ("ation", 4), ("ating", 4), ("ated", 4), ("ator", 4), ("ative", 4), ("ate", 5), ("ition", 4),
    ("ically", 4), ("ical", 4), ("ion", 4), ("ment", 5), ("able", 4), ("ible", 4), ("ness", 4), ("fully", 4),
    ("ily", 3), ("ly", 4), ("ing", 3), ("ied", 3), ("ed", 3), ("er", 5), ("or", 5), ("al", 5),
)  # fmt: skip
"""Each with the letters that must be left."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The beginning that the forms of an English word share, irregular verbs aside."""
    word = word.casefold()
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isascii():
        return word
    word = singular(word)
    if word.endswith("ification"):
        return word.removesuffix("ication")
    for ending, least in _ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= least and _VOWEL.search(base):
            word = base
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]  # stopping, stopped
    if len(word) < 4 or word.endswith("ee"):
        return word
    return word.removesuffix("ie") if word.endswith("ie") else word.rstrip("y").removesuffix("e").removesuffix("i")


def singular(word: str) -> str:
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_light(word: str) -> bool:
    return word in LIGHT_WORDS or stem(word) in _LIGHT_STEMS


def is_loose(word: str) -> bool:
    return stem(word) in _LOOSE_STEMS or (len(word) > 5 and word.endswith(_LOOSE_ENDINGS))


@lru_cache(maxsize=2_000)
def synonyms(word: str) -> frozenset[str]:
    """The stems of words that say the same."""
    own = stem(word)
    groups = [stems for stems in _SYNONYM_STEMS if own in stems]
    return frozenset().union(*groups) - {own}


_LIGHT_STEMS = frozenset(stem(word) for word in LIGHT_WORDS)
_LOOSE_STEMS = frozenset(stem(word) for word in LOOSE_WORDS)
_SYNONYM_STEMS = tuple(frozenset(stem(word) for word in group) for group in SYNONYMS)
