// Comparing text without regard to case and marks: the cost of letters beyond ASCII against that of ASCII letters.
//
// Invariants
//   1. All strings of a line have the same number of characters, with spaces in the same places; long texts have the
//      same number of bytes. The first contender is ASCII, so a ratio is a script's cost relative to ASCII: the goal is
//      at most 5.
//   2. The clock covers only the condition: texts are in memory, and no store takes part.
//   3. The searched word is at the end of every hundredth string, and of each long text, in capitals.

import BenchKit
import Espalier

struct FoldingLines {
    /// The numbers of strings, one group of lines for each.
    let counts: [Int]

    private static let longByteCount = 1_000_000
    private static let rareness = 100

    func all() -> [() -> Line] {
        let many = counts.flatMap { count in
            ["CONTAINS[c]", "CONTAINS[cd]", "==[c]", "==[cd]"].map { words in
                {
                    line("folding \(words), \(count) strings", words, "a string of 50 characters", count) { script in
                        (0..<count).map { script.text(number: $0, isWanted: $0 % Self.rareness == 0) }
                    }
                }
            }
        }
        let long = ["CONTAINS[c]", "CONTAINS[cd]"].map { words in
            {
                line("folding \(words), text of 1 MB", words, "one text of 1,000,000 bytes", 1) { script in
                    var text = ""
                    while text.utf8.count < Self.longByteCount { text += script.text(number: text.utf8.count) + " " }
                    return [text + script.wanted.uppercased()]
                }
            }
        }
        return many + long
    }

    private func line(
        _ name: String, _ words: String, _ note: String, _ operationCount: Int,
        _ texts: @escaping (Script) -> [String]
    ) -> Line {
        Line(
            name, note: note + ", held in memory against one of its script", operationCount: operationCount,
            contenders: Script.all.map { script in
                // Made by the first run, which is not counted: lines that are not selected make no texts.
                var search: TextSearch?
                return Line.Contender(script.name) {
                    let made = try search ?? TextSearch(texts(script), words, script)
                    search = made
                    return try made.run()
                }
            })
    }
}

/// A script, and words made of its letters.
private struct Script {
    let name: String
    let letters: [Character]
    /// The searched word, which no text contains by chance.
    let wanted: String

    private init(_ name: String, _ letters: String, wanted: String) {
        (self.name, self.letters, self.wanted) = (name, Array(letters), wanted)
    }

    static let all = [
        Script("ascii", "abcdefghijklmnopqrstuvwxyzABCDEFGH", wanted: "nightingale"),
        Script("german", "abcdefghijklmnopqrstuvwzäöüßABCÄÖÜ", wanted: "frühstückstüte"),
        Script("greek", "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώΑΒ", wanted: "ἀηδόνιονκαλόν"),
        Script("cyrillic", "абвгдеёжзийклмнопрстуфхцчшщыьэюяЖЙ", wanted: "соловейсловами"),
        Script("full width", "ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚＡＢＣＤＥＦＧＨ", wanted: "ｎｉｇｈｔｉｎｇａｌｅ"),
        Script("cjk", "日本語中文字漢東京都北山川田大小人口目手足春夏秋冬天地海空林かなカナ", wanted: "夜鳴鶯夜鳴鶯"),
    ]

    /// Text `number`: 50 characters, words of 3 to 9 letters.
    func text(number: Int, isWanted: Bool = false) -> String {
        var generator = SplitMix64(state: UInt64(number) &+ 77)
        var characters: [Character] = []
        var wordEnd = 0
        while characters.count < 50 {
            if characters.count == wordEnd {
                if wordEnd > 0 { characters.append(" ") }
                wordEnd = characters.count + Int.random(in: 3...9, using: &generator)
            }
            characters.append(letters[Int.random(in: 0..<letters.count, using: &generator)])
        }
        guard isWanted else { return String(characters.prefix(50)) }
        return String(characters.prefix(50 - wanted.count)) + wanted.uppercased()
    }
}

/// Texts in memory, and a condition on them.
private struct TextSearch {
    private let notes: [Note]
    private let predicate: ResolvedPredicate
    private let expectedCount: Int

    init(_ texts: [String], _ words: String, _ script: Script) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Note", attributes: [AttributeDescription("text", .string)])
        ])
        guard let entity = model.entity(named: "Note") else { throw WrongResult(expected: 1, found: 0) }
        let id = try InMemoryStore(model: model).reserveIDs(for: entity, count: 1)[0]
        notes = texts.map { Note(objectID: id, entity: entity, text: $0) }
        let isEquality = words.hasPrefix("==")
        let wanted = isEquality ? texts[0].lowercased() : script.wanted
        predicate = try ResolvedPredicate(
            FetchPredicate(format: "text \(words) %@", wanted), for: entity, in: model)
        expectedCount = isEquality ? 1 : (texts.count + 99) / 100
    }

    func run() throws -> Double {
        var found = 0
        let time = nanoseconds { for note in notes where predicate.evaluate(on: note) { found += 1 } }
        guard found == expectedCount else { throw WrongResult(expected: expectedCount, found: found) }
        return time
    }
}

/// An object in memory with one text.
private struct Note: PredicateSubject {
    let objectID: ObjectID
    let entity: Entity
    let text: String

    func value(at slot: Int) -> AttributeValue { .string(text) }
    func destination(at slot: Int) -> Note? { nil }
    func destinations(at slot: Int) -> [Note] { [] }
}
