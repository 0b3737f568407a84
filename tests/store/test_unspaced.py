"""Questions in scripts without spaces find what answers them; what was asked for exactly stays exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.find.query_terms import to_query_terms
from hermes_memory_store.language.unspaced_scripts import MAX_PAIRS
from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.store import Store
from tests.benchmarks.recall_languages import LANGUAGES, score, ways_to_ask
from tests.recall_sets import load_language_set

ANSWERS = [
    ("服务器在哪个城市？", "服务器在法兰克福"),
    ("伺服器放在哪裡？", "伺服器放置於台北機房"),
    ("数据库用的是什么？", "数据库选了PostgreSQL"),
    ("Redis缓存怎么配置？", "Redis集群做缓存，六个节点"),
    ("ＤＢ迁移什么时候做？", "DB迁移定在周六凌晨"),
    ("サーバーはどこにありますか？", "サーバーはフランクフルトに置いた"),
    ("ｻｰﾊﾞｰの場所は?", "サーバーはフランクフルトに置いた"),
    ("Redisノードの台数はいくつですか", "Redisノードは三台で動かす"),
    ("鍵はどこに保管していますか？", "署名用の鍵を金庫に保管する"),
    ("서버는 어디에 있나요?", "서버가 프랑크푸르트에 있다"),
    ("결제팀 담당자가 누구예요?", "결제팀은 김민수가 담당자로 일한다"),
    ("API 키는 어디에 저장하나요?", "서명 키를 금고에 둔다"),
    ("เซิร์ฟเวอร์อยู่ที่ไหน", "เซิร์ฟเวอร์ตั้งอยู่ที่แฟรงก์เฟิร์ต"),
    ("ຖານຂໍ້ມູນຢູ່ໃສ", "ຖານຂໍ້ມູນຂອງພວກເຮົາແມ່ນ PostgreSQL"),
    ("ម៉ាស៊ីនមេនៅឯណា", "ម៉ាស៊ីនមេស្ថិតនៅហ្វ្រែងហ្វើត"),
    ("ဆာဗာဘယ်မှာရှိလဲ", "ဆာဗာကို ဖရန့်ဖတ်တွင် ထားသည်"),
]
"""A question, and the only fact that answers it."""

BESIDE = [
    "办公室每周五打扫",
    "会議は月曜日に開く",
    "점심은 열두 시에 먹는다",
    "the office closes at six",
    "เราประชุมทุกวันจันทร์",
]


@pytest.fixture
def memory(store: Store) -> Store:
    for number, text in enumerate([*dict.fromkeys(answer for _, answer in ANSWERS), *BESIDE]):
        store.facts.write("default", Notation(FactType.VALUE, f"note.{number}", text))
        store.turns.add("default", "user", text)
    return store


def contents(store: Store, line: str, **given: object) -> list[str]:
    return [fact.content for fact in store.search.find("default", line, **given).facts]  # type: ignore[arg-type]


@pytest.mark.parametrize(("question", "answer"), ANSWERS)
def test_a_question_finds_the_fact_and_the_turn_that_answer_it(memory: Store, question: str, answer: str) -> None:
    assert contents(memory, question)[0] == answer
    assert memory.turns.search("default", question)[0].turn.content == answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_recall_is_no_worse_than_that_of_trigrams(language: str) -> None:
    wanted = load_language_set(language)
    with ways_to_ask([fact.line for fact in wanted.facts]) as ways:
        floor = score(ways["trigram"], wanted.questions)
        for way in ("facts", "turns"):
            found = score(ways[way], wanted.questions)
            assert found.at_5 >= 0.9 * floor.at_5, (way, found)
            assert found.at_1 >= 0.9 * floor.at_1, (way, found)
            assert found.mrr >= 0.9 * floor.mrr, (way, found)


def test_a_fact_with_the_whole_run_comes_before_one_with_its_pairs(store: Store) -> None:
    for target, text in [("a", "据库中的数据很多"), ("b", "数据库很大"), ("c", "数据分析")]:
        store.facts.write("default", Notation(FactType.VALUE, target, text))
    assert contents(store, "数据库")[:2] == ["数据库很大", "据库中的数据很多"]


def test_a_quoted_phrase_and_an_exclusion_stay_exact(memory: Store) -> None:
    assert contents(memory, '"服务器在"') == ["服务器在法兰克福"]
    assert contents(memory, '"服务器在哪个城市"') == []
    assert contents(memory, '"缓存，六个" 集群') == ["Redis集群做缓存，六个节点"]
    assert "服务器在法兰克福" not in contents(memory, "服务器在哪个城市？ -法兰克福")
    assert "服务器在法兰克福" in contents(memory, "服务器在哪个城市？ -法兰克福府")


def test_filters_hold_for_questions_without_spaces(memory: Store) -> None:
    memory.facts.write("default", "D[hosting]: 服务器迁到法兰克福", scope="ops")
    assert contents(memory, "服务器在哪个城市？ type:decision") == ["服务器迁到法兰克福"]
    assert contents(memory, "服务器在哪个城市？", scope="ops") == ["服务器迁到法兰克福"]
    assert [fact.theme for fact in memory.search.find("other", "服务器在哪个城市？").facts] == []


def test_one_character_is_found_wherever_it_stands(store: Store) -> None:
    for text in ("猫在睡觉", "我养了一只猫", "狗在睡觉"):
        store.facts.write("default", Notation(FactType.VALUE, f"pet.{len(text)}.{text[0]}", text))
        store.turns.add("default", "user", text)
    assert set(contents(store, "猫")) == {"猫在睡觉", "我养了一只猫"}
    assert {hit.turn.content for hit in store.turns.search("default", "猫")} == {"猫在睡觉", "我养了一只猫"}


def test_a_noun_that_ends_like_a_particle_is_looked_up_as_it_is(store: Store) -> None:
    for target, text in [
        ("a", "회의 시간은 열 시"),
        ("b", "좋은 기회를 잡는다"),
        ("c", "불평은 없다"),
        ("d", "평가 기준"),
    ]:
        store.facts.write("default", Notation(FactType.VALUE, target, text))
    assert contents(store, "회의") == ["회의 시간은 열 시"]
    assert contents(store, "평가") == ["평가 기준"]
    assert contents(store, "회의는 언제인가요?")[0] == "회의 시간은 열 시"


def test_question_words_leave_no_pairs_behind() -> None:
    assert [word.text for word in to_query_terms(["生产用什么数据库？"], (), ()).words] == [
        "生产",
        "产用",
        "数据",
        "据库",
    ]
    assert [word.text for word in to_query_terms(["DBはどこですか"], (), ()).words] == ["db"]
    assert [word.text for word in to_query_terms(["DB를", "누가", "관리하나요?"], (), ()).words] == ["db", "관리"]


def test_a_name_of_two_letters_amid_another_script_is_no_stop_word() -> None:
    assert "eu" in [word.text for word in to_query_terms(["データをEUの外に置けますか"], (), ()).words]
    assert "eu" not in [word.text for word in to_query_terms(["il", "a", "eu", "un", "serveur"], (), ()).words]


def test_a_long_text_is_asked_for_by_a_bounded_number_of_pairs(memory: Store) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(3_000))
    assert len(to_query_terms([text], (), ()).words) <= MAX_PAIRS
    assert contents(memory, text) == []


def test_what_is_asked_at_the_end_of_a_long_message_is_found(store: Store) -> None:
    for target, text in (("a", "体检安排在十一月"), ("b", "最近天气很好，散步最舒服")):
        store.facts.write("default", Notation(FactType.VALUE, target, text))
    before = "最近天气变化真大，昨天还热得穿短袖，今天就得穿外套了。说起来秋天不冷也不热，出去散步最舒服了。"
    assert "体检安排在十一月" in contents(store, before + "我真正想问的是：体检安排在几月？")


def test_a_query_of_question_words_alone_still_looks_for_them(store: Store) -> None:
    store.facts.write("default", Notation(FactType.VALUE, "a", "为什么要写测试"))
    assert contents(store, "为什么") == ["为什么要写测试"]


def test_a_pair_that_nothing_has_is_looked_for_by_its_characters(store: Store) -> None:
    store.facts.write("default", Notation(FactType.VALUE, "a", "牙医约在下周三"))
    store.facts.write("default", Notation(FactType.VALUE, "b", "服务器在法兰克福"))
    assert contents(store, "什么时候去看牙呢？") == ["牙医约在下周三"]


def test_the_set_of_each_language_is_its_own_file() -> None:
    folder = Path(__file__).parents[1] / "recall_sets"
    assert {file.stem for file in folder.glob("*.txt")} >= set(LANGUAGES)
