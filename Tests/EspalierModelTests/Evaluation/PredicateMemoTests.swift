// Results that a predicate keeps for the objects to which many others lead: computed once, and never for another
// question.

import EspalierModel
import Testing

@Suite struct PredicateMemoTests {
    /// An object that counts how often a list is read.
    private struct CountedObject: PredicateSubject {
        final class Count {
            var listReads = 0
        }

        let object: TableObject
        let count: Count

        var objectID: ObjectID { object.objectID }
        var entity: Entity { object.entity }

        func value(at slot: Int) throws(Never) -> AttributeValue { object.value(at: slot) }

        func destination(at slot: Int) throws(Never) -> CountedObject? {
            object.destination(at: slot).map { CountedObject(object: $0, count: count) }
        }

        func destinations(at slot: Int) throws(Never) -> [CountedObject] {
            count.listReads += 1
            return object.destinations(at: slot).map { CountedObject(object: $0, count: count) }
        }
    }

    private let library: MusicLibrary
    /// Twenty albums of one artist, one of each year from 1960 on.
    private let albums: [TableObject]

    init() throws {
        let library = try MusicLibrary()
        let artist = try library.object("Artist", ["name": .string("A")], key: 100)
        let albums = try (0..<20).map { number -> TableObject in
            let year = Int64(1960 + number)
            let album = try library.object(
                "Album", ["year": .integer(year), "title": .string("\u{E9}")], key: UInt64(number + 1))
            // Every other album has a track that is as long as its year says.
            let lengths = number.isMultiple(of: 2) ? [5, year] : [5, 7]
            let tracks = try lengths.enumerated().map { position, length in
                try library.object(
                    "Track", ["milliseconds": .integer(length)], key: UInt64(200 + 2 * number + position))
            }
            album.links = ["artist": [artist], "tracks": tracks]
            return album
        }
        artist.links = ["albums": albums]
        (self.library, self.albums) = (library, albums)
    }

    private func resolved(_ format: String, _ arguments: String...) throws -> ResolvedPredicate {
        let album = try #require(library.model.entity(named: "Album"))
        return try ResolvedPredicate(
            try FetchPredicate(format: format, argumentArray: arguments.map { $0 as (any PredicateArgument)? }),
            for: album, in: library.model)
    }

    @Test(arguments: [
        "SUBQUERY(artist.albums, $a, $a.year > 1965).@count == 14",
        "SUBQUERY(artist.albums, $a, ANY $a.tracks.milliseconds == $a.year).@count == 10",
        "SUBQUERY(artist.albums, $a, SUBQUERY($a.artist.albums, $b, $b.year > $a.year).@count == 3).@count == 1",
        "artist.albums.@max.year == 1979", "ANY artist.albums.year == 1961",
    ])
    func `a question about the list of an owner is answered once for all objects with this owner`(
        _ format: String
    ) throws {
        let (predicate, memo, count) = (try resolved(format), PredicateMemo(), CountedObject.Count())
        func holds(_ album: TableObject) -> Bool {
            ResolvedPredicate.evaluate(predicate.root, on: CountedObject(object: album, count: count), memo: memo)
        }

        #expect(holds(albums[0]))
        let readsForOne = count.listReads
        #expect(albums.allSatisfy(holds))

        #expect(readsForOne > 0 && count.listReads == readsForOne)
    }

    @Test(arguments: [
        "SUBQUERY(artist.albums, $a, $a.year > year).@count == 3",
        "SUBQUERY(artist.albums, $a, $a == SELF AND $a.year == 1965).@count == 1",
        "SUBQUERY(artist.albums, $a, TERNARY(year > 1970, $a.year, year) == 1975).@count == 1",
        // The inner SUBQUERY reads an element of the outer one.
        "SUBQUERY(tracks, $t, SUBQUERY(artist.albums, $a, $a.year == $t.milliseconds).@count == 1).@count == 1",
        // Two conditions on one list.
        "SUBQUERY(artist.albums, $a, $a.year > 1965).@count == SUBQUERY(artist.albums, $a, $a.year > year).@count",
    ])
    func `a SUBQUERY that reads more than its elements is evaluated for each object`(_ format: String) throws {
        let (predicate, memo) = (try resolved(format), PredicateMemo())

        let alone = albums.map { predicate.evaluate(on: $0) }
        let together = albums.map { ResolvedPredicate.evaluate(predicate.root, on: $0, memo: memo) }

        #expect(together == alone)
        #expect(Set(alone).count == 2, "the condition does not tell the albums apart")
    }

    @Test func `two spellings of one text are two questions with [n]`() throws {
        let predicate = try resolved(
            "ANY artist.albums.title ==[n] %@ AND NOT (ANY artist.albums.title ==[n] %@)", "\u{E9}", "e\u{301}")

        #expect(ResolvedPredicate.evaluate(predicate.root, on: albums[0], memo: PredicateMemo()))
    }
}
