// The messages of errors of predicates and sort keys, and the places that they point to.

import EspalierModel
import Foundation
import Testing

@Suite struct PredicateWordsTests {
    private let library: MusicLibrary

    init() throws { library = try MusicLibrary() }

    @Test(arguments: [
        ("title == 1", 10), ("1 == title", 1), ("title BEGINSWITH 'a' AND year > 'x'", 33), ("year IN {1, 'x'}", 9),
        ("title MATCHES '('", 15), ("artist.name == 5", 16), ("NOT (title == 1)", 15),
    ]) func `the caret points at the value that does not fit`(text: String, column: Int) throws {
        let error = try #require(try library.problem(text, for: "Album"))

        #expect(error.column == column, "\(error)")
    }

    @Test func `an error of a sort key names the sort key`() throws {
        let album = try #require(library.model.entity(named: "Album"))

        let error = #expect(throws: FetchPredicateError.self) {
            _ = try ResolvedSortKey(SortKey("titel"), for: album, in: library.model)
        }

        let text = "\(try #require(error))"
        #expect(text.hasPrefix("sort key 'titel': entity 'Album' has no property 'titel'"))
        #expect(!text.contains("predicate"))
    }

    @Test func `a date without quotes is no difference of numbers`() throws {
        let error = try #require(try library.problem("released > 2024-01-31", for: "Album"))

        #expect(error.column == 12)
        #expect("\(error)".contains("found '2024-01-31', expected the date in quotes, '2024-01-31T00:00:00Z'"))
        #expect(try library.problem("released > '2024-01-31T00:00:00Z'", for: "Album") == nil)
        #expect(try library.problem("year > 2024 - 01 - 31", for: "Album") == nil)
        #expect(try library.problem("year > 2024-1-31", for: "Album") == nil)
    }

    @Test(arguments: [
        ("year NOT IN {1, 2}", "write NOT in front of the comparison"),
        ("title.length > 3", "use LIKE with one ? for each character: title LIKE '???*'"),
        ("{1, 2} == {1, 2}", "compare one value with the list: value IN {...}"),
        ("year == {1, 2}", "only IN takes a collection on the right; lists as a whole are not compared"),
        ("artist.albums[year].title == 'x'", "a computed index, expected a number, FIRST, LAST or SIZE in [ ]"),
        ("artist.albums.tracks[0].name == 'x'", "use SUBQUERY"),
        ("tracks[0].name == 'x'", "use an ordered relationship"),
    ]) func `what is not supported says what to write instead`(text: String, expected: String) throws {
        let error = try #require(try library.problem(text, for: "Album"))

        #expect("\(error)".contains(expected), "\(error)")
    }

    @Test func `an element of an ordered relationship has properties`() throws {
        let artist = try library.object("Artist", ["name": .string("Nina")])
        let albums = try ["Pastel Blues", "Little Girl Blue"].enumerated().map { index, title in
            let album = try library.object("Album", ["title": .string(title)], key: UInt64(index + 1))
            album.links = ["artist": [artist]]
            return album
        }
        artist.links = ["albums": albums]

        #expect(try library.holds("albums[FIRST].title == 'Pastel Blues'", on: artist))
        #expect(try library.holds("albums[LAST].title == 'Little Girl Blue'", on: artist))
        #expect(
            try library.holds("albums[1].title BEGINSWITH 'Little' AND albums[0].artist.name == 'Nina'", on: artist))
        #expect(try library.holds("albums[7].title == nil", on: artist))
        let parsed = try FetchPredicate(format: "albums[FIRST].title == 'x'")
        #expect(try FetchPredicate(format: "\(parsed)") == parsed)
    }

    @Test func `nothing is less or greater than what is no number`() throws {
        for value in [AttributeValue.double(.nan), .double(1), .double(.infinity)] {
            let album = try library.object("Album", ["rating": value])
            let isNumber = !value.isNaN
            #expect(try library.holds("rating > 0", on: album) == isNumber)
            #expect(try library.holds("rating >= 0", on: album) == isNumber)
            #expect(try !library.holds("rating < 0", on: album))
            #expect(try library.holds("rating BETWEEN {0, %@}", Double.infinity, on: album) == isNumber)
            for comparison in ["<", "<=", ">", ">="] {
                #expect(try !library.holds("rating \(comparison) %@", Double.nan, on: album))
            }
            #expect(try library.holds("rating == %@", Double.nan, on: album) != isNumber)
        }
    }
}
