// Unique values that are not final while a save or a command writes its rows: derived ones, and those that later chunks
// give up. Only the values at the end count, in every kind of store and for chunks of any length.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct DeferredConstraintTests {
    /// Books with codes that are unique without case, on shelves whose names they have.
    private static func library(_ constraints: [[String]]) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Shelf", attributes: [AttributeDescription("name", .string), AttributeDescription("other", .string)],
                relationships: [RelationshipDescription("books", to: "Book", inverse: "shelf", .toMany)]),
            EntityDescription(
                "Book",
                attributes: [
                    AttributeDescription("number", .integer64), AttributeDescription("code", .string),
                    AttributeDescription("other", .string),
                    AttributeDescription("plainCode", .string, derivation: .canonical(of: "code")),
                    AttributeDescription("shelfName", .string, derivation: .value(of: "shelf.name")),
                    AttributeDescription("plainShelf", .string, derivation: .canonical(of: "shelfName")),
                ],
                relationships: [RelationshipDescription("shelf", to: "Shelf", inverse: "books")],
                uniquenessConstraints: constraints),
        ])
    }

    /// Inserts rows by a command; returns their IDs.
    private func insert(
        _ rows: [StoreCommand.NewRow], _ name: String, into store: any PersistentStore
    ) throws -> [ObjectID] {
        var command = try store.insertion(name, rows)
        (command.returnsIDs, command.validates) = (true, false)
        return try store.execute(command).ids
    }

    /// An update of all rows of an entity to the value of another attribute.
    private func update(_ name: String, _ property: String, to format: String, in store: any PersistentStore) throws
        -> StoreCommand
    {
        StoreCommand(
            .update(
                try store.rows(name), try store.assignments(name, [property: try FetchExpression(format: format)])))
    }

    /// The values of an attribute of all rows of an entity, by key.
    private func values(_ name: String, _ property: String, in store: any PersistentStore) throws -> [AttributeValue] {
        let slot = try #require(store.entity(name).attribute(named: property)).slot
        return try store.fetch(StoreFetch(entity: store.entity(name))).map { $0.value(at: slot) }
    }

    private func expectConstraint(_ body: () throws -> Void) -> [ConstraintConflict] {
        let error = #expect(throws: StoreError.self) { try body() }
        guard case .constraint(let conflicts)? = error else {
            Issue.record("\(String(describing: error))")
            return []
        }
        return conflicts
    }

    // MARK: Commands

    @Test(arguments: CommandStoreKind.allCases)
    func `rows may exchange values from which unique ones are derived, whatever the chunks (BR-04)`(
        kind: CommandStoreKind
    ) throws {
        let count = 20
        for chunk in [1, 3, 7, 100] {
            let store = try kind.make(Self.library([["plainCode"]]))
            _ = try insert(
                try (0..<count).map {
                    try store.newRow(
                        "Book", ["code": .string("A\($0)"), "other": .string("a\(count - 1 - $0)")])
                }, "Book", into: store)
            var command = try update("Book", "code", to: "other", in: store)
            command.chunkCountMax = chunk

            #expect(try store.execute(command).count == count)

            let plain = try values("Book", "plainCode", in: store)
            #expect(plain == (0..<count).reversed().map { .string("a\($0)") }, "chunks of \(chunk)")
            #expect(try store.findings().isEmpty, "chunks of \(chunk)")
        }
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `rows may exchange values from which unique ones of others are derived, whatever the chunks (BR-04)`(
        kind: CommandStoreKind
    ) throws {
        let count = 6
        for chunk in [1, 4, 100] {
            let store = try kind.make(Self.library([["shelfName", "number"], ["plainShelf", "number"]]))
            let shelves = try insert(
                try (0..<count).map {
                    try store.newRow(
                        "Shelf", ["name": .string("S\($0)"), "other": .string("S\(count - 1 - $0)")])
                }, "Shelf", into: store)
            for shelf in shelves {
                _ = try insert(
                    try (0..<3).map { try store.newRow("Book", ["number": .integer($0)], to: ["shelf": shelf]) },
                    "Book", into: store)
            }
            var command = try update("Shelf", "name", to: "other", in: store)
            command.chunkCountMax = chunk

            #expect(try store.execute(command).count == count)

            let names = (0..<count).reversed().flatMap { Array(repeating: AttributeValue.string("S\($0)"), count: 3) }
            #expect(try values("Book", "shelfName", in: store) == names, "chunks of \(chunk)")
            #expect(try store.findings().isEmpty, "chunks of \(chunk)")
        }
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `a unique count of destinations may pass through that of another owner (BR-01)`(kind: CommandStoreKind) throws
    {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Owner",
                attributes: [AttributeDescription("itemCount", .integer64, derivation: .count(of: "items"))],
                relationships: [RelationshipDescription("items", to: "Item", inverse: "owner", .toMany)],
                uniquenessConstraints: [["itemCount"]]),
            EntityDescription(
                "Item", relationships: [RelationshipDescription("owner", to: "Owner", inverse: "items")]),
        ])
        let store = try kind.make(model)
        func owner() throws -> ObjectID {
            try #require(try insert([store.newRow("Owner", [:])], "Owner", into: store).first)
        }
        func items(_ count: Int, of owner: ObjectID) throws -> StoreCommand {
            var command = try store.insertion(
                "Item", try (0..<count).map { _ in try store.newRow("Item", [:], to: ["owner": owner]) })
            command.chunkCountMax = 1
            return command
        }
        let first = try owner()
        _ = try store.execute(try items(2, of: first))
        let second = try owner()

        #expect(try store.execute(try items(3, of: second)).count == 3)

        #expect(try values("Owner", "itemCount", in: store) == [.integer(2), .integer(3)])
        let before = try store.content()
        let conflicts = expectConstraint { _ = try store.execute(try items(1, of: first)) }
        #expect(conflicts.map(\.object) == [first] && conflicts.map(\.other) == [second])
        #expect(conflicts.map(\.values) == [[.integer(3)]] && conflicts.map(\.properties) == [["itemCount"]])
        #expect(try store.content() == before)
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `a refused update names the pairs of rows that a save names, whatever the chunks (BR-04)`(
        kind: CommandStoreKind
    ) throws {
        for chunk in [1, 2, 100] {
            for stem in ["", String(repeating: "long ", count: 300)] {
                let store = try kind.make(Self.library([["plainCode"]]))
                let ids = try insert(
                    try (0..<6).map { try store.newRow("Book", ["code": .string("\(stem)\($0)")]) }, "Book",
                    into: store)
                let before = try store.content()
                var command = try update("Book", "code", to: "'\(stem)3'", in: store)
                command.chunkCountMax = chunk

                let conflicts = expectConstraint { _ = try store.execute(command) }

                // The fourth book has the code before, and keeps it; then the first one has got it.
                #expect(conflicts.map(\.object) == [ids[0], ids[1], ids[2], ids[4], ids[5]], "chunks of \(chunk)")
                #expect(conflicts.map(\.other) == [ids[3], ids[0], ids[0], ids[0], ids[0]], "chunks of \(chunk)")
                #expect(try store.content() == before)
                #expect(try store.findings().isEmpty)
            }
        }
    }

    @Test(arguments: CommandStoreKind.allCases, [false, true])
    func `of rows of several entities that share values, all but the one with the lowest key are refused for it`(
        kind: CommandStoreKind, isLong: Bool
    ) throws {
        let stem = isLong ? String(repeating: "long ", count: 300) : ""
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Item", isAbstract: true, attributes: [AttributeDescription("code", .string)],
                uniquenessConstraints: [["code"]]),
            EntityDescription("Coin", superentity: "Item"), EntityDescription("Note", superentity: "Item"),
        ])
        for names in [["Coin", "Note"], ["Note", "Coin"]] {
            let store = try kind.make(model)
            var ids: [ObjectID] = []
            for (number, name) in (names + names + names).enumerated() {
                ids += try insert([store.newRow(name, ["code": .string("\(stem)\(number)")])], name, into: store)
            }
            for chunk in [1, 100] {
                var command = try update("Item", "code", to: "'\(stem)x'", in: store)
                command.chunkCountMax = chunk

                let conflicts = expectConstraint { _ = try store.execute(command) }

                #expect(conflicts.map(\.object) == Array(ids.dropFirst()), "chunks of \(chunk), first \(names[0])")
                #expect(conflicts.allSatisfy { $0.other == ids[0] }, "chunks of \(chunk), first \(names[0])")
            }
            #expect(try store.findings().isEmpty)
        }
    }

    @Test func `no more rows are looked at than a refusal names, about`() throws {
        let count = 3000
        let store = try CommandStoreKind.tree.make(Self.library([["code"]]))
        _ = try insert(
            try (0..<count).map { try store.newRow("Book", ["code": .string("\($0)")]) }, "Book", into: store)
        var command = try update("Book", "code", to: "'x'", in: store)
        command.chunkCountMax = count

        let conflicts = expectConstraint { _ = try store.execute(command) }

        #expect(conflicts.count == 1000)
    }

    // MARK: Saves

    @Test(arguments: StoreKind.deriving)
    func `more rows than are derived at a time exchange unique values in one save`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, Self.library([["shelfName", "number"]]))
        let shelves = try ["A", "B"].map { try fixture.insert("Shelf", ["name": .string($0)]) }
        var request = SaveRequest()
        for shelf in shelves {
            for number in 0..<1100 {
                request.insertions.append(
                    try fixture.insertion("Book", ["number": .integer(Int64(number))], to: ["shelf": shelf]))
            }
        }
        _ = try fixture.store.save(request)
        request = SaveRequest()
        request.updates = [
            try fixture.update(shelves[0], ["name": .string("B")]),
            try fixture.update(shelves[1], ["name": .string("A")]),
        ]

        _ = try fixture.store.save(request)

        #expect(try fixture.find("Book", "shelfName == 'B'") == fixture.links(shelves[0], "books"))
        let conflicts = expectConstraint { try fixture.change(shelves[0], ["name": .string("A")]) }
        #expect(!conflicts.isEmpty && conflicts.allSatisfy { $0.object != $0.other && $0.values.first == .string("A") })
        #expect(try fixture.value(shelves[0], "name") == .string("B"))
        #expect(try fixture.store.findings().isEmpty)
    }

    @Test(arguments: StoreKind.deriving, ["shelfName", "plainShelf"])
    func `values that a row has only until others are derived are not taken`(kind: StoreKind, name: String) throws {
        let fixture = try StoreFixture(kind, Self.library([["number", name]]))
        let shelves = try ["x", "y"].map { try fixture.insert("Shelf", ["name": .string($0)]) }
        let books = try [1, 2].map {
            try fixture.insert("Book", ["number": .integer($0)], to: ["shelf": shelves[0]])
        }
        var request = SaveRequest()
        request.updates = [try fixture.update(books[0], ["number": .integer(2)], to: ["shelf": shelves[1]])]

        _ = try fixture.store.save(request)

        #expect(try fixture.value(books[0], name) == .string("y"))
        let conflicts = expectConstraint { try fixture.change(books[0], to: ["shelf": shelves[0]]) }
        #expect(conflicts.map(\.object) == [books[0]] && conflicts.map(\.other) == [books[1]])
        #expect(try fixture.value(books[0], name) == .string("y"))
        // A new row is named as the request names it.
        let new = try fixture.insertion("Book", ["number": .integer(2)], to: ["shelf": shelves[1]])
        request = SaveRequest()
        request.insertions = [new]
        #expect(expectConstraint { _ = try fixture.store.save(request) }.map(\.object) == [new.id])
        #expect(try fixture.store.findings().isEmpty)
    }

    @Test func `a model that derives a unique value in another way may exchange it between rows`() throws {
        func model(of source: String) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription(
                    "Book",
                    attributes: [
                        AttributeDescription("code", .string), AttributeDescription("other", .string),
                        AttributeDescription("plain", .string, derivation: .canonical(of: source)),
                    ], uniquenessConstraints: [["plain"]])
            ])
        }
        let count = 1100
        let fixture = try StoreFixture(.treeInFile, model(of: "code"))
        var request = SaveRequest()
        request.insertions = try (0..<count).map {
            try fixture.insertion("Book", ["code": .string("\($0)"), "other": .string("\(count - 1 - $0)")])
        }
        _ = try fixture.store.save(request)
        try fixture.store.close()

        let store = try BTreeStore.open(path: fixture.path, model: model(of: "other"))

        #expect(try values("Book", "plain", in: store) == (0..<count).reversed().map { .string("\($0)") })
        #expect(try store.check().isOK)
        try store.close()
    }

    @Test func `a rebuild mends unique values that two rows have in exchange`() throws {
        let fixture = try StoreFixture(.treeInFile, Self.library([["shelfName"]]))
        let shelves = try ["a", "b"].map { try fixture.insert("Shelf", ["name": .string($0)]) }
        let first = try fixture.insert("Book", to: ["shelf": shelves[0]])
        // A rebuild computes 1,024 rows at a time.
        var request = SaveRequest()
        request.insertions = try (0..<1100).map { try fixture.insertion("Book", ["number": .integer($0)]) }
        _ = try fixture.store.save(request)
        let last = try fixture.insert("Book", to: ["shelf": shelves[1]])
        let store = try #require(fixture.store as? BTreeStore)
        // Each shelf gets the row of the other one, so the books of both have the name that the other shelf has now.
        var transaction = try store.database.beginWrite()
        let tree = try #require(try transaction.tree(named: "rows:Shelf", keys: UInt64.self))
        let rows = try shelves.map { try #require(try transaction.get($0.key, from: tree)) }
        for (id, row) in zip(shelves.reversed(), rows) { _ = try transaction.put(row, for: id.key, in: tree) }
        try transaction.commit()

        let rebuilt = try store.rebuildDerivedTrees()

        #expect(rebuilt.derivedValueCount == 4 && rebuilt.after?.isOK == true)
        #expect(try fixture.value(first, "shelfName") == .string("b"))
        #expect(try fixture.value(last, "shelfName") == .string("a"))
    }
}
