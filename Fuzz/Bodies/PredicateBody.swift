// The body whose bytes are the text of a predicate.
//
// Promises
//   1. Any text gives a predicate or a located error, in bounded time.
//   2. The text of a parsed predicate gives an equal predicate.
//   3. A resolved predicate can be evaluated on any object, and gives the same answer twice.

import EspalierModel

extension FuzzBody {
    /// The bytes are the text of a predicate.
    public static let predicate = FuzzBody(
        name: "predicate",
        seeds: {
            var seeds: [String: [UInt8]] = [:]
            for (number, text) in predicateTexts.enumerated() { seeds["text-\(number)"] = [UInt8](text.utf8) }
            return seeds
        },
        run: { bytes in
            let text = String(decoding: bytes.prefix(2000), as: UTF8.self)
            do throws(FetchPredicateError) {
                try check(try parse(text))
            } catch {
                precondition(!error.description.isEmpty)
            }
        })

    /// Parses the text with as many arguments as it needs, from a fixed list.
    private static func parse(_ text: String) throws(FetchPredicateError) -> FetchPredicate {
        let arguments: [any PredicateArgument] = ["title", 42, "artist.name", [1, 2] as [Int]]
        for count in 0..<arguments.count {
            do throws(FetchPredicateError) {
                return try FetchPredicate(format: text, argumentArray: Array(arguments.prefix(count)))
            } catch {
                guard case .missingArgument = error.reason else { throw error }
            }
        }
        return try FetchPredicate(format: text, argumentArray: arguments)
    }

    private static func check(_ parsed: FetchPredicate) throws(FetchPredicateError) {
        let printed = parsed.description
        do throws(FetchPredicateError) {
            let again = try FetchPredicate(format: printed)
            precondition(again == parsed, "\(printed) is read as \(again)")
        } catch {
            preconditionFailure("the text of a predicate cannot be read: \(printed): \(error)")
        }
        for object in objects {
            let resolved = try ResolvedPredicate(parsed, for: object.entity, in: FuzzModel.model)
            let answer = resolved.evaluate(on: object)
            precondition(
                resolved.evaluate(on: object) == answer || printed.contains("random"),
                "a predicate gives two answers for one object")
        }
    }

    private static var objects: [FuzzObject] {
        let tag = FuzzObject("Tag", key: 1, values: ["name": .string("a tag")])
        let artist = FuzzObject("Band", key: 2, values: ["name": .string("The Band"), "size": .integer(5)])
        return [
            FuzzObject(
                "Album", key: 3, values: FuzzModel.albumValues, links: ["artist": [artist], "tags": [tag, tag]]),
            FuzzObject("Album", key: 4), artist,
        ]
    }

    private static let predicateTexts = [
        "title == 'Abbey Road' AND year BETWEEN {1960, 1970}", "NOT (title BEGINSWITH[cd] 'a' OR year > 1969)",
        "ANY tags.name IN {'a', \"b\", 'c'}", "ALL tags.name LIKE[c] '*t?g'",
        "NONE tags.name MATCHES '^a.*[0-9]{2,3}$'",
        "artist.name CONTAINS[n] 'the'", "SUBQUERY(tags, $t, $t.name == 'x' AND $t.albums.@count > 1).@count == 0",
        "tags.@count >= 2 AND artist.albums.@avg.rating < 4.5", "%K == %@", "%K BETWEEN %@ AND year < %d",
        "rating * 2 + 1 ** 3 - -year / 7 != 0x1F", "price == 19.99 OR weight == 5e-1", "title = nil && isLive == YES",
        "TERNARY(isLive == TRUE, 'live', title) ENDSWITH 'e'", "uppercase(title) == lowercase('A') || FALSEPREDICATE",
        "released < CAST('2001-01-01T01:00:00+01:00', 'NSDate')", "key == CAST('0001', 'NSData')", "TRUEPREDICATE",
        "label.name == 'Apple' AND SELF.entity == 'Album' AND SELF == nil", "$x == 1 OR #and == 2",
        "title == 'it\\'s \\u00e9 \\n' AND FUNCTION(year, 'abs') == 1",
        "sqrt(year) < ln(plays) AND floor(rating) IN {1}",
        "{1, 2, 3} CONTAINS year", "year IN SUBQUERY(tags, $x, TRUEPREDICATE)", "tags.@max.name == 'z'",
        "tags[FIRST].name == 'a' AND tags[0].name == tags[LAST].name AND tags[SIZE] == 3", "modulus:by:(year, 2) == 1",
        "random() < 1 AND now() > released", "year & 3 == 1 || year << 2 > 8", "title UNION title == 1",
    ]
}
