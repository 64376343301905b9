// Commands on stores of each kind: what they change, what they refuse, and that a refusal changes nothing.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct CommandTests {
    /// A store with shelves 0 and 1, and cards 0 ..< `cards` on shelf 0.
    private func make(
        _ kind: CommandStoreKind, cards: Int = 0
    ) throws -> (store: any PersistentStore, shelves: [ObjectID]) {
        let store = try kind.make(ShelfModel.make())
        var command = try store.insertion(
            "Shelf", try (1...2).map { try store.newRow("Shelf", ["factor": .integer($0)]) })
        command.returnsIDs = true
        let shelves = try store.execute(command).ids
        let rows = try (0..<cards).map { number in
            try store.newRow(
                "Card", ["number": .integer(Int64(number)), "name": .string("card \(number)"), "size": .integer(1)],
                to: ["shelf": shelves[0]])
        }
        _ = try store.execute(try store.insertion("Card", rows))
        return (store, shelves)
    }

    private func numbers(_ store: any PersistentStore, _ format: String? = nil) throws -> [Int64] {
        let entity = try store.entity("Card")
        let slot = try #require(entity.attribute(named: "number")?.slot)
        guard case .matching(let fetch) = try store.rows("Card", format) else { return [] }
        return try store.fetch(fetch).compactMap {
            if case .integer(let number) = $0.value(at: slot) { number } else { nil }
        }
    }

    private func expectUnchanged(
        _ store: any PersistentStore, _ body: () throws -> Void, _ isExpected: (StoreError) -> Bool
    ) throws {
        let before = try store.content()
        let error = #expect(throws: StoreError.self) { try body() }
        #expect(error.map(isExpected) == true, "\(String(describing: error))")
        #expect(try store.content() == before)
        #expect(try store.findings().isEmpty)
    }

    // MARK: Insertions

    @Test(arguments: CommandStoreKind.allCases)
    func `new rows are stored with their lists, in chunks of any length (BR-01)`(kind: CommandStoreKind) throws {
        for count in [0, 1, 7, 64] {
            let (store, shelves) = try make(kind)
            var command = try store.insertion(
                "Photo",
                try (0..<count).map { number in
                    try store.newRow(
                        "Photo",
                        ["number": .integer(Int64(number)), "name": .string("ä\(number)"), "year": .integer(7)],
                        to: ["shelf": shelves[0], "place": shelves[1]])
                })
            (command.chunkCountMax, command.returnsIDs) = (7, true)

            let result = try store.execute(command)

            #expect(result.count == count && result.ids.count == count && Set(result.inserted) == Set(result.ids))
            #expect(Set(result.updated) == (count == 0 ? [] : Set(shelves)) && result.deleted.isEmpty)
            #expect(try numbers(store) == (0..<count).map(Int64.init))
            let shelf = try store.entity("Shelf")
            let line = try #require(shelf.relationship(named: "line"))
            let cards = try #require(shelf.relationship(named: "cards"))
            #expect(try store.destinations(of: line, for: [shelves[1]])[0] == result.ids)
            #expect(try store.destinations(of: cards, for: [shelves[0]])[0] == result.ids)
            #expect(try store.findings().isEmpty)
        }
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `a row that breaks a rule is named with its position, and nothing is stored`(kind: CommandStoreKind) throws {
        let (store, shelves) = try make(kind, cards: 2)
        func insert(_ change: (inout StoreCommand) throws -> Void = { _ in }) throws -> CommandResult {
            var rows = try (0..<5).map { try store.newRow("Card", ["name": .string("new \($0)")]) }
            rows[3] = try store.newRow("Card", [:])
            rows[4] = try store.newRow("Card", ["name": .string(String(repeating: "x", count: 301))])
            var command = try store.insertion("Card", rows)
            command.chunkCountMax = 3
            try change(&command)
            return try store.execute(command)
        }

        try expectUnchanged(store, { _ = try insert() }) { error in
            guard case .brokenRules(let rules) = error else { return false }
            return rules.map(\.position) == [3, 4] && rules.allSatisfy { $0.property == "name" && $0.row == nil }
        }
        #expect(try insert { $0.validates = false }.count == 5)

        try expectUnchanged(
            store,
            {
                let gone = ObjectID(
                    entityName: "Shelf", storeIdentifier: store.identifier, key: shelves[1].key + 100)
                let row = try store.newRow("Card", ["name": .string("lost")], to: ["shelf": gone])
                _ = try store.execute(try store.insertion("Card", [row]))
            }
        ) { if case .references = $0 { true } else { false } }
        try expectUnchanged(
            store,
            {
                let row = try store.newRow("Card", ["name": .integer(3)])
                _ = try store.execute(try store.insertion("Card", [row]))
            }
        ) { if case .invalidRequest = $0 { true } else { false } }
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `rows whose unique values are taken follow the action of the constraint (BR-03)`(kind: CommandStoreKind) throws
    {
        let (store, _) = try make(kind, cards: 4)
        let number = ConstraintName("Card", ["number"])
        func command(_ note: String, _ action: ConstraintAction?) throws -> StoreCommand {
            var command = try store.insertion(
                "Card",
                try [2, 3, 4, 5, 4].map { number in
                    try store.newRow(
                        "Card",
                        ["number": .integer(number), "name": .string("\(note) \(number)"), "note": .string(note)])
                })
            (command.chunkCountMax, command.returnsIDs) = (2, true)
            if let action { command.constraintActions = [number: action] }
            return command
        }

        try expectUnchanged(store, { _ = try store.execute(try command("a", nil)) }) { error in
            if case .constraint(let conflicts) = error { conflicts.first?.properties == ["number"] } else { false }
        }
        let kept = try store.execute(try command("kept", .keep))
        #expect(kept.count == 5 && kept.inserted.count == 2 && kept.ids[2] == kept.ids[4])
        #expect(try numbers(store) == [0, 1, 2, 3, 4, 5])
        #expect(try numbers(store, "note == 'kept'") == [4, 5])

        let merged = try store.execute(try command("merged", .merge))
        #expect(merged.count == 5 && merged.inserted.isEmpty && Set(merged.updated) == Set(merged.ids))
        #expect(try numbers(store, "note == 'merged'") == [2, 3, 4, 5])
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `an error of the closure ends the command, and the store stays as it was`(kind: CommandStoreKind) throws {
        let (store, _) = try make(kind)
        try expectUnchanged(
            store,
            {
                var count = 0
                var command = StoreCommand(
                    .insert(try store.entity("Card")) { () throws(StoreError) in
                        count += 1
                        if count == 9 { throw .commandCancelled(path: nil) }
                        do { return try store.newRow("Card", ["name": .string("card \(count)")]) } catch {
                            throw .invalidRequest(reason: "\(error)")
                        }
                    })
                command.chunkCountMax = 2
                _ = try store.execute(command)
            }
        ) { if case .commandCancelled = $0 { true } else { false } }
    }

    // MARK: Updates

    @Test(arguments: CommandStoreKind.allCases)
    func `constants and expressions become values, and versions count up (BR-04)`(kind: CommandStoreKind) throws {
        let (store, shelves) = try make(kind, cards: 10)
        var command = StoreCommand(
            .update(
                try store.rows("Card", "number >= 4"),
                try store.assignments(
                    "Card",
                    [
                        "note": "done", "weight": try FetchExpression(format: "number / 2"),
                        "size": try FetchExpression(format: "size + shelf.factor + number"), "place": shelves[1],
                    ])))
        (command.chunkCountMax, command.returnsIDs) = (4, true)

        let result = try store.execute(command)

        #expect(result.count == 6 && result.ids.count == 6 && result.inserted.isEmpty)
        #expect(Set(result.updated) == Set(result.ids + [shelves[1]]))
        #expect(try numbers(store, "note == 'done' AND size == number + 2 AND place != nil") == [4, 5, 6, 7, 8, 9])
        #expect(try numbers(store, "note == nil AND size == 1") == [0, 1, 2, 3])
        let rows = try store.snapshots(of: result.ids)
        #expect(rows.allSatisfy { $0?.version == 2 })
        let line = try #require(try store.entity("Shelf").relationship(named: "line"))
        #expect(try store.destinations(of: line, for: [shelves[1]])[0] == result.ids)
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `an update that sets no property changes no row, in every kind of store (BR-04)`(
        kind: CommandStoreKind
    ) throws {
        let (store, _) = try make(kind, cards: 3)
        let before = try store.content()

        var command = StoreCommand(.update(try store.rows("Card"), []))
        command.returnsIDs = true
        let result = try store.execute(command)

        #expect(result.count == 0 && result.ids.isEmpty && result.updated.isEmpty)
        #expect(try store.content() == before)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `expressions see the rows as they were, also across relationships`(kind: CommandStoreKind) throws {
        let (store, shelves) = try make(kind, cards: 9)
        var command = StoreCommand(
            .update(
                try store.rows("Card"),
                try store.assignments(
                    "Card",
                    [
                        "shelf": shelves[1], "size": try FetchExpression(format: "shelf.cards.@count"),
                        "weight": try FetchExpression(format: "SUBQUERY(shelf.cards, $c, $c.size == 1).@count"),
                    ])))
        command.chunkCountMax = 2

        #expect(try store.execute(command).count == 9)

        #expect(try numbers(store, "size == 9 AND weight == 9 AND shelf.factor == 2").count == 9)
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `rows may exchange unique values, whatever the chunks`(kind: CommandStoreKind) throws {
        for chunk in [1, 2, 5, 100] {
            let (store, _) = try make(kind, cards: 11)
            var command = StoreCommand(
                .update(
                    try store.rows("Card"),
                    try store.assignments("Card", ["number": try FetchExpression(format: "10 - number")])))
            command.chunkCountMax = chunk

            #expect(try store.execute(command).count == 11)

            #expect(try numbers(store) == (0...10).reversed().map(Int64.init))
            #expect(try store.findings().isEmpty, "chunks of \(chunk)")
        }
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `long unique values that are cut in their entries are exchanged too`(kind: CommandStoreKind) throws {
        let store = try kind.make(ShelfModel.make())
        let stem = String(repeating: "long ", count: 400)
        let names = ["a", "b", "c", "d"].map { stem + $0 }
        var insertion = try store.insertion("Shelf", [try store.newRow("Shelf", [:])])
        insertion.returnsIDs = true
        let shelf = try #require(try store.execute(insertion).ids.first)
        var cards = try store.insertion(
            "Card", try names.map { try store.newRow("Card", ["name": .string($0)], to: ["shelf": shelf]) })
        cards.validates = false
        _ = try store.execute(cards)
        let next = "TERNARY(name ENDSWITH 'a', %@, TERNARY(name ENDSWITH 'b', %@, %@))"
        var command = StoreCommand(
            .update(
                try store.rows("Card"),
                try store.assignments(
                    "Card", ["name": try FetchExpression(format: next, names[1], names[2], names[0])])))
        (command.chunkCountMax, command.validates) = (1, false)

        // c and d both become a.
        try expectUnchanged(store, { _ = try store.execute(command) }) { error in
            if case .constraint = error { true } else { false }
        }
        command.change = .update(
            try store.rows("Card", "NOT name ENDSWITH 'd'"),
            try store.assignments("Card", ["name": try FetchExpression(format: next, names[1], names[2], names[0])]))
        #expect(try store.execute(command).count == 3)
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `an update that breaks a rule, a constraint or a type changes nothing`(kind: CommandStoreKind) throws {
        let (store, shelves) = try make(kind, cards: 9)
        func update(_ values: KeyValuePairs<String, any PredicateArgument>) throws {
            var command = StoreCommand(.update(try store.rows("Card"), try store.assignments("Card", values)))
            command.chunkCountMax = 4
            _ = try store.execute(command)
        }

        try expectUnchanged(store, { try update(["number": 3]) }) { error in
            if case .constraint = error { true } else { false }
        }
        try expectUnchanged(store, { try update(["name": AttributeValue.null]) }) { error in
            guard case .brokenRules(let rules) = error, case .missingValue? = rules.first?.kind else { return false }
            return rules.first?.row != nil && rules.first?.position == nil
        }
        try expectUnchanged(store, { try update(["size": try FetchExpression(format: "number * 10000")]) }) { error in
            guard case .brokenRules(let rules) = error, case .assignment(let problem)? = rules.first?.kind else {
                return false
            }
            return problem.property == "size"
        }
        let gone = ObjectID(entityName: "Shelf", storeIdentifier: store.identifier, key: shelves[1].key + 100)
        try expectUnchanged(store, { try update(["place": gone]) }) { if case .references = $0 { true } else { false } }
    }

    @Test func `properties that a command cannot set are refused by name, with the reason`() throws {
        let store = try CommandStoreKind.memory.make(ShelfModel.make())
        func reason(_ name: String, _ value: any PredicateArgument) throws -> AssignmentError.Reason? {
            #expect(throws: AssignmentError.self) { try store.assignments("Card", [name: value]) }?.reason
        }

        let unknown = #expect(throws: AssignmentError.self) { try store.assignments("Card", ["nmae": "x"]) }
        #expect(unknown?.suggestion == "name" && "\(unknown.map { "\($0)" } ?? "")".contains("did you mean 'name'"))
        #expect(try reason("shown", true) == .transientProperty)
        #expect(try reason("marks", AttributeValue.null) == .toManyRelationship)
        #expect(try reason("size", "x") == .wrongValue(.wrongType(.string("x"), .integer16)))
        #expect(try reason("size", 40_000) == .wrongValue(.outOfRange(.integer(40_000), .integer16)))
        for (value, name) in [
            (FetchExpression.value(.string("x")), "shelf"),
            (.value(.objectID(ObjectID(temporaryFor: "Shelf"))), "shelf"),
        ] {
            guard case .wrongDestination? = try reason(name, value) else {
                Issue.record("\(name) accepts \(value)")
                continue
            }
        }
        for format in ["name", "marks.text", "nothing + 1", "note"] {
            guard case .wrongExpression? = try reason("size", try FetchExpression(format: format)) else {
                Issue.record("size accepts \(format)")
                continue
            }
        }
        _ = try store.assignments(
            "Card",
            [
                "size": 3.0, "weight": 1, "note": try FetchExpression(format: "uppercase:(name)"),
                "shelf": AttributeValue.null,
            ])
    }

    // MARK: Deletions

    @Test(arguments: CommandStoreKind.allCases)
    func `limit, offset and order choose the rows to delete (BR-05)`(kind: CommandStoreKind) throws {
        let (store, _) = try make(kind, cards: 12)
        var command = StoreCommand(
            .delete(
                try store.rows(
                    "Card", "number < 10", sort: [SortKey("number", ascending: false)], offset: 2, limit: 3)))
        (command.chunkCountMax, command.returnsIDs) = (2, true)

        let result = try store.execute(command)

        #expect(result.count == 3 && Set(result.deleted) == Set(result.ids) && result.inserted.isEmpty)
        #expect(try numbers(store) == [0, 1, 2, 3, 4, 8, 9, 10, 11])
        // Deleted rows are no error.
        command.change = .delete(.ids(result.ids + result.ids))
        #expect(try store.execute(command).count == 0)
        #expect(try store.findings().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `cascades follow, links are emptied, and a rule that denies refuses all of it (BR-07, F-7)`(
        kind: CommandStoreKind
    ) throws {
        let (store, shelves) = try make(kind, cards: 300)
        var command = StoreCommand(
            .update(
                try store.rows("Card", "number < 3"),
                try store.assignments("Card", ["guard": shelves[1], "place": shelves[1]])))
        _ = try store.execute(command)

        try expectUnchanged(
            store, { _ = try store.execute(StoreCommand(.delete(.ids([shelves[1]])))) }
        ) { error in
            guard case .references(let conflicts) = error else { return false }
            return conflicts.map(\.kind) == [.denied] && conflicts[0].destinations.count == 3
        }
        // The cards that guard it go with the other shelf.
        command.change = .delete(try store.rows("Shelf"))
        command.chunkCountMax = 1
        let result = try store.execute(command)

        #expect(result.count == 2 && result.deleted.count == 302 && result.updated.isEmpty)
        #expect(try store.content().isEmpty)
        #expect(try store.findings().isEmpty)
    }

    // MARK: Progress

    @Test(arguments: CommandStoreKind.allCases)
    func `progress counts rows, and a cancelled command leaves the store as it was`(kind: CommandStoreKind) throws {
        let (store, _) = try make(kind, cards: 50)
        func commands() throws -> [StoreCommand] {
            [
                try store.insertion("Card", try (0..<50).map { try store.newRow("Card", ["name": .string("n\($0)")]) }),
                StoreCommand(.update(try store.rows("Card"), try store.assignments("Card", ["size": 2]))),
                StoreCommand(
                    .update(
                        try store.rows("Card"),
                        try store.assignments("Card", ["number": try FetchExpression(format: "number + 1")]))),
                StoreCommand(.delete(try store.rows("Card", "number != nil"))),
            ]
        }
        for var command in try commands() {
            command.chunkCountMax = 10
            let progress = BatchProgress { progress in if progress.completedCount >= 20 { progress.cancel() } }
            command.progress = progress
            if kind != .tree { progress.cancel() }
            try expectUnchanged(store, { _ = try store.execute(command) }) { error in
                if case .commandCancelled = error { true } else { false }
            }
            #expect(progress.completedCount < 50 && progress.isCancelled)
        }
        for var command in try commands() {
            let progress = BatchProgress()
            (command.progress, command.chunkCountMax) = (progress, 10)
            let count = try store.execute(command).count
            #expect(progress.completedCount == count && count >= 50)
        }
        #expect(try store.findings().isEmpty)
    }

    @Test func `a store of an application takes a command again if another writer came between`() throws {
        let (store, _) = try make(.byDefault, cards: 4)
        let own = try #require(store as? ForwardingStore)
        let other = StoreCommand(.update(try own.rows("Card"), try own.assignments("Card", ["note": "other"])))
        own.beforeSave.value = {
            own.beforeSave.value = nil
            _ = try? own.execute(other)
        }

        let mine = StoreCommand(.update(try own.rows("Card"), try own.assignments("Card", ["size": 9])))
        #expect(try own.execute(mine).count == 4)

        #expect(try numbers(store, "size == 9 AND note == 'other'").count == 4)
    }
}
