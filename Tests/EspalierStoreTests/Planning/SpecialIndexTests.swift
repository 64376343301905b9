// Indexes of parts of the rows, of folded texts, of elements of composites, of to-one relationships and of derived
// attributes (FR-25): what `explain` shows, and that every store finds the same rows.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// People with an index of each kind.
private enum IndexedModel {
    static let indexes: [EntityDescription.Index] = [
        .init("folded", on: [.init("name", folding: [.caseInsensitive, .diacriticInsensitive])]),
        .init("active", on: [.init("age")], predicateFormat: "isActive == YES"),
        .init("noted", on: [.init("note")], predicateFormat: "note != nil"),
        .init("city", on: [.init("home.city"), .init("age", isAscending: false)]),
        .init("town", on: [.init("home.city", folding: .caseInsensitive)]),
        .init("team", on: [.init("team"), .init("age")]),
        .init("plain", on: [.init("plainName")]),
        .init("old", on: [.init("plainName")], predicateFormat: "age >= 60 AND team != nil"),
    ]

    static func make(_ indexes: [EntityDescription.Index] = indexes) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Person",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("note", .string),
                    AttributeDescription("age", .integer32), AttributeDescription("isActive", .boolean),
                    AttributeDescription(
                        "home", .composite,
                        elements: [AttributeDescription("city", .string), AttributeDescription("zip", .integer32)]),
                    AttributeDescription("plainName", .string, derivation: .canonical(of: "name")),
                ],
                relationships: [RelationshipDescription("team", to: "Team", inverse: "members")], indexes: indexes),
            EntityDescription("Guest", superentity: "Person", attributes: [AttributeDescription("pass", .uuid)]),
            EntityDescription(
                "Team", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("members", to: "Person", inverse: "team", .toMany)]),
        ])
    }
}

@Suite struct SpecialIndexTests {
    private static let names = ["Ann", "ann", "Änn", "BÉla", "bela", "Zoë", "zoe\u{308}", "aß", "ASS", "", "𝄞"]

    private static func values(_ random: inout SeededGenerator) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        func some() -> Bool { Int.random(in: 0..<5, using: &random) > 0 }
        if some() { values["name"] = .string(names.randomElement(using: &random) ?? "") }
        if Bool.random(using: &random) { values["note"] = .string(names.randomElement(using: &random) ?? "") }
        if some() { values["age"] = .integer(.random(in: 0...90, using: &random)) }
        if some() { values["isActive"] = .boolean(Int.random(in: 0..<4, using: &random) == 0) }
        if some() {
            values["home"] = .composite([
                "city": some() ? .string(names.randomElement(using: &random) ?? "") : .null,
                "zip": .integer(.random(in: 0...9, using: &random)),
            ])
        }
        return values
    }

    private func plan(
        _ fixture: StoreFixture, _ format: String, sort: [SortKey] = [], limit: Int? = nil,
        _ arguments: (any PredicateArgument)?...
    ) throws -> [String] {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try fixture.store.explain(fixture.request("Person", predicate, sort: sort, limit: limit))
    }

    /// Six hundred people in ten teams.
    private func people(_ kind: StoreKind = .treeInMemory) throws -> StoreFixture {
        let fixture = try StoreFixture(kind, IndexedModel.make())
        var random = SeededGenerator(seed: 7)
        var request = SaveRequest()
        let teams = try (0..<10).map { try fixture.insertion("Team", ["name": .string("team \($0)")]) }
        request.insertions = teams
        for number in 0..<600 {
            var values = Self.values(&random)
            values["name"] = .string("\(Self.names[number % 11]) \(number / 11)")
            request.insertions.append(
                try fixture.insertion("Person", values, to: number % 3 == 0 ? [:] : ["team": teams[number % 10].id]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    // MARK: Choices

    @Test func `a folded index answers equality, lists, prefixes and orders that ignore the same differences`() throws {
        let fixture = try people()
        for format in [
            "name ==[cd] 'ANN 7'", "name IN[cd] {'ann 7', 'BELA 3'}", "name BEGINSWITH[cd] 'zoe 1'",
            "name LIKE[cd] 'ZOË 1*'", "name LIKE[cd] 'bela 1?'",
        ] {
            #expect(try plan(fixture, format)[0].hasPrefix("tree \"index:Person.folded\""), "\(format)")
        }
        #expect(try plan(fixture, "name ==[cd] 'ANN 7'")[1].hasPrefix("exact"))
        let sort = [SortKey("name", ascending: false, options: [.caseInsensitive, .diacriticInsensitive])]
        #expect(
            try plan(fixture, "TRUEPREDICATE", sort: sort, limit: 5)[0]
                == "tree \"index:Person.folded\", all keys, backwards")
        // Other differences, or none, are another order.
        for format in [
            "name == 'Ann 7'", "name ==[c] 'ann 7'", "name <[cd] 'b'", "name ENDSWITH[cd] '7'", "name LIKE[c] 'ann 7*'",
            "name LIKE[cd] '*7'",
        ] {
            #expect(try !plan(fixture, format).joined().contains("folded"), "\(format)")
        }
        #expect(try fixture.find("Person", "name ==[cd] 'ANN 7'").count == 3)
    }

    @Test func `a partial index is used only where the fetch requires its condition`() throws {
        let fixture = try people()
        let both = try plan(fixture, "age > 80 AND isActive == YES")
        #expect(both[0].hasPrefix("tree \"index:Person.active\", keys from"))
        #expect(both[1].hasPrefix("exact") && !both.joined().contains("test"))
        #expect(try plan(fixture, "isActive == YES")[0] == "tree \"index:Person.active\", all keys")
        let sorted = try plan(fixture, "isActive == YES", sort: [SortKey("age")])
        #expect(sorted[0] == "tree \"index:Person.active\", all keys" && sorted.contains("order: by index"))
        for format in ["age > 80", "age > 80 AND isActive == NO", "age > 80 OR isActive == YES", "isActive != NO"] {
            #expect(try !plan(fixture, format).joined().contains("active"), "\(format)")
        }
        let two = try plan(fixture, "plainName == 'ann 7' AND team != nil AND age >= 60")
        #expect(two[0].contains("index:Person.old") || two[0].contains("index:Person.plain"))
        #expect(try !plan(fixture, "plainName BEGINSWITH 'a' AND age >= 61 AND team != nil").joined().contains("old"))
    }

    @Test func `a comparison implies that a value exists`() throws {
        let fixture = try people()
        for format in ["note == 'Ann'", "note BEGINSWITH 'Z'", "note IN {'Ann', 'Zoë'}", "note > 'a' AND age > 1"] {
            #expect(try plan(fixture, format)[0].hasPrefix("tree \"index:Person.noted\""), "\(format)")
        }
        for format in ["note == nil", "note != 'Ann'", "note IN {'Ann', nil}", "NOT note == 'Ann'"] {
            #expect(try !plan(fixture, format).joined().contains("noted"), "\(format)")
        }
    }

    @Test func `elements of composites, to-one relationships and derived attributes have indexes`() throws {
        let fixture = try people()
        #expect(try plan(fixture, "home.city == 'Ann' AND age > 80")[0].hasPrefix("tree \"index:Person.city\""))
        #expect(try plan(fixture, "home.city ==[c] 'ANN'")[0].hasPrefix("tree \"index:Person.town\""))
        #expect(try plan(fixture, "plainName == 'ann 7'")[0].hasPrefix("tree \"index:Person.plain\""))
        let team = try #require(try fixture.find("Team", "name == 'team 1'").first)
        #expect(try plan(fixture, "team == %@ AND age > 10", team)[0].hasPrefix("tree \"index:Person.team\""))
        #expect(try plan(fixture, "home.zip == 3")[0].hasPrefix("read all rows"))
    }

    // MARK: The same rows in every store

    @Test func `random rows and questions have the same answers with indexes as without`() throws {
        let seed = testSeed(default: 25)
        var random = SeededGenerator(seed: seed)
        let (tree, memory) = (
            try StoreFixture(.treeInFile, IndexedModel.make()), try StoreFixture(.memory, IndexedModel.make())
        )
        for step in 0..<40 {
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let change = Change(random: &random)
                for fixture in [tree, memory] { try change.make(in: fixture) }
            }
            if step == 25 { try tree.reopen() }
            for _ in 0..<6 { try Self.compare(tree, memory, "seed \(seed), step \(step)", &random) }
        }
        let store = try #require(tree.store as? BTreeStore)
        #expect(try store.check().findings.isEmpty)
        #expect(try store.rebuildDerivedTrees(isDryRun: true).hasChanges == false)
        try store.close()
    }

    /// A change that finds its rows by their positions, so that it is the same in both stores.
    private struct Change {
        let kind: Int
        let isGuest: Bool
        let values: [String: AttributeValue]
        let person: Int
        let team: Int

        init(random: inout SeededGenerator) {
            (kind, isGuest) = (.random(in: 0..<9, using: &random), .random(using: &random))
            values = SpecialIndexTests.values(&random)
            (person, team) = (.random(in: 0..<1000, using: &random), .random(in: 0..<1000, using: &random))
        }

        func make(in fixture: StoreFixture) throws {
            let people = try fixture.store.fetchIDs(fixture.request("Person"))
            let teams = try fixture.store.fetchIDs(fixture.request("Team"))
            let team = teams.isEmpty || self.team % 3 == 0 ? nil : teams[self.team % teams.count]
            switch kind {
            case 0: _ = try fixture.insert("Team", ["name": values["name"] ?? .null])
            case 1 where !people.isEmpty: try fixture.delete(people[person % people.count])
            case 2 where team != nil && teams.count > 3: if let team { try fixture.delete(team) }
            case 3 where !people.isEmpty, 4 where !people.isEmpty:
                try fixture.change(people[person % people.count], values, to: ["team": team])
            default:
                _ = try fixture.insert(isGuest ? "Guest" : "Person", values, to: team.map { ["team": $0] } ?? [:])
            }
        }
    }

    private static func compare(
        _ tree: StoreFixture, _ memory: StoreFixture, _ place: String, _ random: inout SeededGenerator
    ) throws {
        let name = names.randomElement(using: &random) ?? ""
        let age = Int.random(in: 0...90, using: &random)
        let conditions = [
            "name ==[cd] \"\(name)\"", "name BEGINSWITH[cd] \"\(name.prefix(2))\"", "name IN[cd] {\"\(name)\", 'ann'}",
            "isActive == YES", "age > \(age)", "age >= 60", "team != nil", "note != nil", "note == \"\(name)\"",
            "home.city == \"\(name)\"", "home.city ==[c] \"\(name)\"", "plainName == \"\(name.lowercased())\"",
            "name LIKE[cd] \"\(name.prefix(2))*\"", "name LIKE[cd] \"\(name.prefix(1))?*\"",
            "note LIKE \"\(name.prefix(2))*\"",
            "home.city == nil", "note < \"\(name)\"", "NOT isActive == YES", "home.zip == 3",
        ]
        let format = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            conditions.randomElement(using: &random) ?? "age > 1"
        }.joined(separator: Int.random(in: 0..<4, using: &random) == 0 ? " OR " : " AND ")
        let keys: [[SortKey]] = [
            [], [SortKey("age")], [SortKey("note", ascending: false)],
            [SortKey("name", options: [.caseInsensitive, .diacriticInsensitive])], [SortKey("plainName")],
            [SortKey("home.city"), SortKey("age", ascending: false)],
        ]
        let sort = keys.randomElement(using: &random) ?? []
        let limit = Bool.random(using: &random) ? nil : Int.random(in: 1...5, using: &random)
        func answer(_ fixture: StoreFixture) throws -> [UInt64] {
            let request = try fixture.request("Person", FetchPredicate(format: format), sort: sort, limit: limit)
            let count = try fixture.store.count(request)
            let keys = try fixture.store.fetchIDs(request).map(\.key)
            #expect(count == keys.count, "\(place): \(format)")
            return keys
        }
        let (found, expected) = (try answer(tree), try answer(memory))
        if found != expected {
            let plan = try tree.store.explain(
                tree.request("Person", FetchPredicate(format: format), sort: sort, limit: limit))
            Issue.record("\(place): \(format), \(sort), \(limit ?? -1): \(found) instead of \(expected)\n\(plan)")
        }
    }

    // MARK: Files

    @Test func `indexes of every kind are built from the rows of a file that lacks them, and dropped again`() throws {
        let fixture = try StoreFixture(.treeInFile, IndexedModel.make([]))
        var random = SeededGenerator(seed: 3)
        for _ in 0..<60 { _ = try fixture.insert("Person", Self.values(&random)) }
        try fixture.store.close()
        for indexes in [
            IndexedModel.indexes,
            IndexedModel.indexes.map { index in
                var index = index
                if index.predicateFormat != nil { index.predicateFormat = "age < 50" }
                return index
            }, [],
        ] {
            let store = try BTreeStore.open(path: fixture.path, model: IndexedModel.make(indexes))
            #expect(try store.check().findings.isEmpty)
            let active = try #require(store.model.entity(named: "Person")).indexes.contains { $0.name == "active" }
            #expect(active == !indexes.isEmpty)
            try store.close()
        }
    }

    @Test func `a check finds entries that the condition excludes, and those that are missing`() throws {
        let fixture = try people(.treeInFile)
        let store = try #require(fixture.store as? BTreeStore)
        var transaction = try store.database.beginWrite()
        let tree = try #require(try transaction.tree(named: "index:Person.active", keys: [UInt8].self))
        let other = try #require(try transaction.tree(named: "index:Person.folded", keys: [UInt8].self))
        var cursor = try transaction.cursor(over: tree)
        _ = try cursor.next()
        let first = try cursor.key
        _ = try transaction.remove(first, from: tree)
        var folded = try transaction.cursor(over: other)
        _ = try folded.next()
        let wrong = try folded.key
        let value = try #require(try transaction.get(wrong, from: other))
        _ = try transaction.put(value, for: wrong, in: tree)
        try transaction.commit()

        let problems = try store.check().findings.map(\.problem)
        let rebuilt = try store.rebuildDerivedTrees()

        #expect(problems.contains("the row has no entry"))
        #expect(problems.contains { $0.contains("condition of the index") || $0.contains("differs from the one") })
        #expect(rebuilt.after?.isOK == true)
    }

    // MARK: Models

    @Test(arguments: [
        (EntityDescription.Index("i", on: [.init("age", folding: .caseInsensitive)]), "is not a text"),
        (.init("i", on: [.init("name", folding: .wholeCharacters)]), "case and diacritics only"),
        (.init("i", on: [.init("home.town")]), "has no element 'town'"),
        (.init("i", on: [.init("home")]), "has no order"),
        (.init("i", on: [.init("age")], predicateFormat: "age >"), "cannot be kept"),
        (.init("i", on: [.init("age")], predicateFormat: "team.name == 'x'"), "more than the values of the object"),
        (.init("i", on: [.init("age")], predicateFormat: "characterCount(name) > 3"), "versions of Unicode"),
        (.init("i", on: [.init("age")], predicateFormat: "name CONTAINS[w] 'e'"), "versions of Unicode"),
        (.init("i", on: [.init("age")], predicateFormat: "name MATCHES '(a+)+b'"), "a regular expression may take too"),
        (
            .init("i", on: [.init("age")], predicateFormat: "age > 1 OR NOT TERNARY(name MATCHES 'a', 1, 2) == 1"),
            "a regular expression may take too"
        ),
        (.init("i", on: [.init("age")], predicateFormat: "CAST(now(), 'string') > name"), "the time is another one"),
        (.init("i", on: [.init("age")], predicateFormat: "ages > 1"), "did you mean 'age'?"),
        (.init("i", on: [.init("age")], predicateFormat: "ANY team.members.age > 1"), "more than the values"),
    ])
    func `an index that no store can keep is refused by name`(index: EntityDescription.Index, text: String) throws {
        do {
            _ = try IndexedModel.make([index])
            Issue.record("accepted")
        } catch let error as ModelError {
            #expect("\(error)".contains("index 'i'") && "\(error)".contains(text), "\(error)")
        }
    }
}
