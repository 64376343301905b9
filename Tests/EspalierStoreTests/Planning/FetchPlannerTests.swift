// The planner's choice, as `explain` shows it: an index where it helps, else a scan.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct FetchPlannerTests {
    /// A library with 40 people, 80 albums and 400 songs: enough for the costs of plans to differ.
    private func library() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory)
        var request = SaveRequest()
        let people = try (0..<40).map { try fixture.insertion("Person", ["name": .string("person \($0)")]) }
        let albums = try (0..<80).map { number in
            try fixture.insertion(
                "Album", ["name": .string("album \(number)"), "year": .integer(Int64(1960 + number % 60))],
                to: ["artist": people[number / 2].id])
        }
        var songs: [SaveRequest.Insertion] = []
        for number in 0..<400 {
            let values: [String: AttributeValue] = [
                "title": .string("song \(number)"), "length": .integer(Int64(number % 100)),
                "rating": .double(Double(number % 50)),
            ]
            let destinations = ["album": albums[number / 5].id, "owner": people[number % 40].id]
            songs.append(try fixture.insertion("Song", values, to: destinations))
        }
        request.insertions = people + albums + songs
        _ = try fixture.store.save(request)
        return fixture
    }

    private func plan(
        _ fixture: StoreFixture, _ entity: String, _ format: String, sort: [SortKey] = [], limit: Int? = nil
    ) throws -> [String] {
        try fixture.store.explain(
            fixture.request(entity, FetchPredicate(format: format), sort: sort, limit: limit))
    }

    @Test func `equality on an indexed attribute reads one stretch of the index`() throws {
        let fixture = try library()

        let steps = try plan(fixture, "Song", "title == 'song 7'")

        #expect(steps[0].hasPrefix("tree \"index:Media.title\", keys that begin with"))
        #expect(steps[1].hasPrefix("exact"))
        #expect(try fixture.find("Song", "title == 'song 7'").count == 1)
    }

    /// The planner compares all plans for `IN`; an `IN` with one member asks the same as `==`.
    @Test func `one value of an indexed attribute is planned the same without comparing ways`() throws {
        let fixture = try library()
        let long = String(repeating: "long ", count: 200)
        let values: [(String, AttributeValue)] = [
            ("title", .string("song 7")), ("title", .null), ("title", .string("")), ("title", .string("a\0b")),
            ("title", .string("cafe\u{301}")), ("title", .string(long)), ("rating", .double(.nan)),
            ("rating", .double(-0.0)), ("rating", .null), ("rating", .integer(7)), ("bitrate", .integer(-1)),
            ("bitrate", .integer(1 << 20)), ("isbn", .string("x")), ("length", .integer(7)),
            ("lossless", .boolean(true)),
        ]
        for (name, value) in values {
            let entity = name == "isbn" ? "Book" : "Song"
            let path = FetchExpression.keyPath(FetchKeyPath([name]))
            func steps(_ comparison: FetchPredicate.Comparison) throws -> [String] {
                try fixture.store.explain(fixture.request(entity, .comparison(comparison), limit: 5))
            }
            let point = try steps(.init(path, .equal, .value(value)))
            #expect(try point == steps(.init(path, .in, .list([.value(value)]))), "\(name) == \(value)")
        }
    }

    @Test func `one value finds the rows that have it, whatever the value`() throws {
        let (tree, memory) = (try StoreFixture(.treeInMemory), try StoreFixture(.memory))
        let long = String(repeating: "long ", count: 200)
        let titles = ["", "a", "A", "a\0b", "a\0", "caf\u{E9}", "cafe\u{301}", "cafe", long, long + "x", long + "y"]
        let ratings = [0, -0.0, 1, .nan, -.nan, .infinity, -1]
        var values: [[String: AttributeValue]] = []
        for number in 0..<300 {
            var row: [String: AttributeValue] = [:]
            if number % 13 > 0 { row["title"] = .string(titles[number % titles.count]) }
            if number % 17 > 0 { row["rating"] = .double(ratings[number % ratings.count]) }
            if number % 5 > 0 { row["bitrate"] = .integer(Int64(number % 4)) }
            values.append(row)
        }
        for fixture in [tree, memory] {
            var request = SaveRequest()
            request.insertions = try values.map { try fixture.insertion("Song", $0) }
            _ = try fixture.store.save(request)
        }
        func keys(_ fixture: StoreFixture, _ comparison: FetchPredicate.Comparison) throws -> [Substring?] {
            try fixture.store.fetchIDs(fixture.request("Song", .comparison(comparison)))
                .map { $0.uriRepresentation.split(separator: "/").last }
        }
        let constants =
            [
                ("title", .null), ("rating", .null), ("bitrate", .null), ("bitrate", .double(2)),
                ("bitrate", .integer(9)),
            ]
            + titles.map { ("title", AttributeValue.string($0)) } + ratings.map { ("rating", .double($0)) }
        for (name, value) in constants {
            for options in [[], .caseInsensitive] as [FetchPredicate.Comparison.Options] {
                let comparison = FetchPredicate.Comparison(
                    .keyPath(FetchKeyPath([name])), .equal, .value(value), options: options)
                let found = try keys(tree, comparison)
                #expect(try found == keys(memory, comparison), "\(name) == \(value) \(options)")
                #expect(found.isEmpty == (value == .integer(9)), "\(name) == \(value)")
            }
        }
    }

    @Test func `a value that most rows have is looked for in all rows`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        var request = SaveRequest()
        request.insertions = try (0..<2100).map { number in
            try fixture.insertion("Song", ["bitrate": .integer(number % 3 == 0 ? 2 : 1)])
        }
        let inserted = try fixture.store.save(request).inserted

        let found = try fixture.store.fetch(fixture.request("Song", FetchPredicate(format: "bitrate == 1")))

        #expect(found.map(\.id) == inserted.enumerated().filter { $0.offset % 3 > 0 }.map(\.element.id))
    }

    @Test func `a predicate across two to-one relationships goes backwards from the far end`() throws {
        let fixture = try library()

        let steps = try plan(fixture, "Song", "album.artist.name == 'person 3'")

        #expect(steps[0].hasPrefix("tree \"unique:Person.name\""))
        #expect(steps[1...2] == ["back across Album.artist", "back across Song.album"])
        #expect(try fixture.find("Song", "album.artist.name == 'person 3'").count == 10)
    }

    @Test func `a far end without index is scanned if it is the smaller side`() throws {
        let fixture = try library()

        let steps = try plan(fixture, "Song", "album.artist.name ENDSWITH '3'")

        #expect(steps[0] == "read all rows of Person, test each for Person")
        #expect(try fixture.find("Song", "album.artist.name ENDSWITH '3'").count == 40)
        #expect(try plan(fixture, "Person", "ANY media.title ENDSWITH '3'")[0] == "read all rows of Person")
    }

    @Test func `text compared with folding does not use an index that is not folded`() throws {
        let fixture = try library()

        #expect(try plan(fixture, "Song", "title ==[c] 'SONG 7'")[0] == "read all rows of Media")
        #expect(try fixture.find("Song", "title ==[c] 'SONG 7'").count == 1)
    }

    @Test func `a pattern of LIKE reads the entries that begin with its text before the first wildcard`() throws {
        let fixture = try library()
        for title in ["*a", "*ab", "abc", "aXc", "aXd"] { _ = try fixture.insert("Song", ["title": .string(title)]) }
        let patterns: [(pattern: String, usesIndex: Bool, count: Int)] = [
            ("song 7*", true, 11), ("song 7", true, 1), ("song 7?", true, 10), ("a?c", true, 2), ("\\*a*", true, 2),
            ("\\*a", true, 1), ("*a", false, 1), ("?bc", false, 1), ("*", false, 405), ("", false, 0),
        ]
        for (pattern, usesIndex, count) in patterns {
            let request = try fixture.request("Song", FetchPredicate(format: "title LIKE %@", pattern))
            let steps = try fixture.store.explain(request)
            #expect(
                steps[0].hasPrefix("tree \"index:Media.title\", keys that begin with") == usesIndex,
                "\(pattern): \(steps)")
            #expect(try fixture.store.count(request) == count, "\(pattern)")
        }
        #expect(try plan(fixture, "Song", "title LIKE[c] 'song 7*'")[0] == "read all rows of Media")
    }

    @Test func `a compound index answers its first property and a range of its second`() throws {
        let fixture = try library()

        let steps = try plan(fixture, "Song", "length == 7 AND title >= 'song 2' AND title < 'song 3'")

        #expect(steps[0].hasPrefix("tree \"index:Media.byLengthAndTitle\""))
        #expect(steps[1].hasPrefix("exact"))
        #expect(try fixture.find("Song", "length == 7 AND title >= 'song 2' AND title < 'song 3'").count == 1)
    }

    @Test func `sorting with a limit goes along an index, also backwards`() throws {
        let fixture = try library()

        let up = try plan(fixture, "Song", "length >= 0", sort: [SortKey("rating")], limit: 3)
        let down = try plan(fixture, "Song", "TRUEPREDICATE", sort: [SortKey("rating", ascending: false)], limit: 3)
        let wrong = try plan(fixture, "Song", "TRUEPREDICATE", sort: [SortKey("length"), SortKey("title")], limit: 3)

        #expect(up[0] == "tree \"index:Media.rating\", all keys")
        #expect(down[0] == "tree \"index:Media.rating\", all keys, backwards")
        #expect(wrong.contains("order: keep the first 3 by length, title"))
    }

    @Test func `identity reads primary keys, and alternatives are united`() throws {
        let fixture = try library()
        let songs = try fixture.store.fetchIDs(fixture.request("Song", limit: 3))

        let predicate = try FetchPredicate(format: "SELF IN %@ OR title == 'song 9'", argumentArray: [songs])
        let steps = try fixture.store.explain(fixture.request("Song", predicate))

        #expect(steps[0] == "3 primary keys")
        #expect(steps.contains("all of these 2"))
        #expect(try fixture.store.count(fixture.request("Song", predicate)) == 4)
    }

    @Test func `an object of a relationship is found through the list of the other end`() throws {
        let fixture = try library()
        let album = try fixture.find("Album", "name == 'album 4'")

        let predicate = try FetchPredicate(format: "album == %@", argumentArray: [album[0]])
        let steps = try fixture.store.explain(fixture.request("Song", predicate))

        #expect(steps[0...1] == ["1 primary key", "back across Song.album"])
        #expect(steps[2].hasPrefix("exact"))
        #expect(try fixture.store.count(fixture.request("Song", predicate)) == 5)
    }

    @Test func `the few that a relationship leads to are asked first, however many lead to them`() throws {
        for count in [900, 2700] {
            let fixture = try StoreFixture(.treeInMemory)
            let all = try fixture.insert("Tag", ["label": .string("all")])
            var request = SaveRequest()
            request.insertions = try (0..<count).map { try fixture.insertion("Song", ["length": .integer(Int64($0))]) }
            let songs = try fixture.store.save(request).inserted.map(\.id)
            try fixture.link(all, "media", add: songs)
            func rows(_ format: String, _ expected: Int) throws -> Int {
                let fetch = try fixture.request("Song", FetchPredicate(format: format))
                var found = 0
                let rows = try StepCount.count { found = try fixture.store.count(fetch) }.rows
                #expect(found == expected, "\(format)")
                return rows
            }

            // No index serves [c]: the store reads all tags, and then the songs of the matching ones.
            #expect(try rows("ANY tags.label ==[c] 'NONE'", 0) <= 1)
            #expect(try rows("ANY tags.label == 'none'", 0) <= 1)
            #expect(try rows("ANY tags.label ==[c] 'ALL'", count) <= 3 * count)
            let rare = try fixture.insert("Tag", ["label": .string("rare")])
            try fixture.link(rare, "media", add: Array(songs[..<4]))
            #expect(try rows("ANY tags.label ==[c] 'RARE'", 4) <= 6)
        }
    }
}
