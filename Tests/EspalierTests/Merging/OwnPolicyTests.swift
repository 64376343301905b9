// Merge policies of the application's own: what they are asked, what becomes of their answers, and what they may do.

import Espalier
import EspalierModel
import Synchronization
import TestSupport
import Testing

/// The questions that policies were asked.
private final class Questions: Sendable {
    private let asked = Mutex<[MergeConflict]>([])
    var all: [MergeConflict] { asked.withLock { $0 } }
    func note(_ conflict: MergeConflict) { asked.withLock { $0.append(conflict) } }
}

@Suite struct OwnPolicyTests {
    private static let resolving: [MergePolicy.Rule] = [.storeTrump, .objectTrump, .overwrite, .rollback]
    /// A board on which both sides have changed a property of peg 0, and its number `b`.
    private func contested(
        _ kind: StoreKind, _ row: MergeTableTests.Row, _ policy: MergePolicy, _ merging: Merging = .none
    ) throws -> PegBoard {
        let board = try PegBoard(kind, count: 5, [("0", row.property, row.base)])
        board.mine.mergePolicy = policy
        board.mine.automaticallyMergesChangesFromParent = merging == .automatic
        for (values, number, context) in [(row.mine, "5", board.mine), (row.theirs, "6", board.theirs)] {
            try board.set("0", row.property, values, in: context)
            try board.set("0", "b", [number], in: context)
        }
        try board.theirs.save()
        switch merging {
        case .none: break
        case .refresh: board.mine.refreshAllObjects()
        case .automatic: board.mine.processPendingChanges()
        }
        return board
    }

    @Test(arguments: StoreKind.allCases, MergeTableTests.rows)
    func `a policy that answers with a rule does what the rule does`(
        _ kind: StoreKind, _ row: MergeTableTests.Row
    ) throws {
        for (number, rule) in Self.resolving.enumerated() {
            for merging in row.mergings(number) {
                let comment: Comment = "\(rule), \(merging)"
                let expected = try contested(kind, row, MergePolicy(rule), merging)
                try expected.mine.save()
                let asked = Questions()
                let board = try contested(
                    kind, row,
                    MergePolicy { conflict, _ in
                        asked.note(conflict)
                        return MergeResolution(rule)
                    }, merging)

                try board.mine.save()

                #expect(try board.stored() == expected.stored(), comment)
                #expect(asked.all.contains { $0["b"]?.mine == .integer(5) }, comment)
                try board.expectAgreement(comment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases, MergeTableTests.rows)
    func `a property gets the value that the policy chooses for it, whatever the rule for the others`(
        _ kind: StoreKind, _ row: MergeTableTests.Row
    ) throws {
        let choices = [(MergeResolution.Choice.mine, row.mine), (.stored, row.theirs), (nil, ["4"])]
        for (ruleNumber, rule) in Self.resolving.enumerated() {
            for (choiceNumber, (choice, values)) in choices.enumerated() {
                for merging in row.mergings(ruleNumber + choiceNumber) {
                    let comment: Comment = "\(rule), \(choice.map { "\($0)" } ?? "a value of its own"), \(merging)"
                    let board = try contested(
                        kind, row,
                        MergePolicy { conflict, object in
                            guard object[attribute: "name"] == .string("0") else { return MergeResolution(rule) }
                            let other = try #require(object.managedObjectContext).fetch(
                                FetchRequest<Peg>(try FetchPredicate(format: "name == '4'")))[0].objectID
                            let own: MergeResolution.Choice =
                                row.property == "a"
                                ? .value(.integer(4))
                                : row.isToMany || PegBoard.ordered.contains(row.property)
                                    ? .destinations([other]) : .value(.objectID(other))
                            return MergeResolution(rule, choices: [row.property: choice ?? own])
                        }, merging)

                    try board.mine.save()

                    let stored = try #require(try board.stored()["0"], comment)
                    // Changes of members that were merged below are those of both sides.
                    let merged = choice == .mine && merging != .none ? row.both : nil
                    #expect(stored[row.property] == merged ?? values, comment)
                    let takesTheirs = rule == .storeTrump || rule == .rollback
                    #expect(stored["b"] == [takesTheirs ? "6" : "5"], comment)
                    try board.expectAgreement(comment)
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases, MergeTableTests.rows)
    func `a policy is told the values of both sides, and those they started from (MP-06)`(
        _ kind: StoreKind, _ row: MergeTableTests.Row
    ) throws {
        let asked = Questions()
        let board = try contested(
            kind, row,
            MergePolicy { conflict, _ in
                asked.note(conflict)
                return MergeResolution(.objectTrump)
            })
        let ids = try board.pegs(board.mine).mapValues(\.objectID)
        try board.mine.save()

        let conflict = try #require(asked.all.first { $0.object == ids["0"] })
        let number = try #require(conflict["b"])
        #expect(number.base == .integer(0) && number.mine == .integer(5) && number.stored == .integer(6))
        let property = try #require(conflict[row.property])
        func list(_ names: [String]) -> [ObjectID] { names.compactMap { ids[$0] } }
        if let lists = property.destinations {
            #expect(row.isToMany || PegBoard.ordered.contains(row.property))
            let isOrdered = PegBoard.ordered.contains(row.property)
            for (found, expected) in [(lists.base, row.base), (lists.mine, row.mine), (lists.stored, row.theirs)] {
                #expect(isOrdered ? found == list(expected) : Set(found) == Set(list(expected)))
            }
        } else {
            func value(_ texts: [String]) -> AttributeValue {
                if row.property == "a" { return .integer(Int64(texts[0]) ?? -1) }
                return list(texts).first.map { .objectID($0) } ?? .null
            }
            #expect(property.base == value(row.base) && property.mine == value(row.mine))
            #expect(property.stored == value(row.theirs))
        }
    }

    @Test(arguments: StoreKind.allCases, Merging.allCases)
    func `a counter that both sides have advanced is summed, in a context and in its child`(
        _ kind: StoreKind, _ merging: Merging
    ) throws {
        let sum = MergePolicy { conflict, _ in
            var resolution = MergeResolution(.objectTrump)
            if let a = conflict["a"], case .integer(let base)? = a.base, case .integer(let mine) = a.mine,
                case .integer(let stored)? = a.stored
            {
                resolution["a"] = .value(.integer(mine + stored - base))
            }
            return resolution
        }
        for isChild in [false, true] {
            let board = try PegBoard(kind, count: 1, [("0", "a", ["10"])])
            let first = isChild ? ManagedObjectContext(parent: board.mine) : board.theirs
            let second = isChild ? ManagedObjectContext(parent: board.mine) : board.mine
            (second.mergePolicy, second.undoManager) = (sum, UndoStack())
            second.automaticallyMergesChangesFromParent = merging == .automatic
            let (one, two) = (try board.peg("0", in: first), try board.peg("0", in: second))
            two.a += 5
            one.a += 3
            try first.save()
            if merging == .refresh { second.refresh(two, mergesChanges: true) }
            try second.save()
            #expect(two.a == 18 && !second.hasChanges)
            if isChild { try board.mine.save() }
            #expect(try board.stored()["0"]?["a"] == ["18"])
            try second.undo()
            #expect(two.a == 10 && second.hasChanges)
            try second.save()
            #expect(two.a == 10)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that others outrun again and again succeeds in the end`(_ kind: StoreKind) throws {
        let outrunCount = 50
        let board = try PegBoard(kind, count: 1, [])
        let asked = Questions()
        let coordinator = board.coordinator
        board.mine.mergePolicy = MergePolicy { conflict, _ in
            asked.note(conflict)
            if asked.all.count <= outrunCount {
                let other = ManagedObjectContext(coordinator)
                try other.fetch(FetchRequest<Peg>())[0].b = asked.all.count
                try other.save()
            }
            return MergeResolution(.objectTrump)
        }
        try board.peg("0", in: board.mine).a = 7
        try board.peg("0", in: board.theirs).b = -1
        try board.theirs.save()

        try board.mine.save()

        #expect(asked.all.count == outrunCount + 1)
        let stored = try board.stored()["0"]
        #expect(stored?["a"] == ["7"] && stored?["b"] == ["\(outrunCount)"])
    }

    @Test(arguments: StoreKind.allCases)
    func `each entity has its policy, a subentity that of the nearest superentity, and a closure one for each object`(
        _ kind: StoreKind
    ) throws {
        let list = try GuestList(kind)
        let ids = try ["City", "Guest", "Patron", "Patron"].enumerated().map { number, entity in
            try list.store(entity, ["name": .string("\(number)")])
        }
        let context = list.context
        #expect(throws: ContextError.self) { try context.setMergePolicy(.rollback, forEntityNamed: "Ghost") }
        context.mergePolicy = .storeTrump
        try context.setMergePolicy(.objectTrump, forEntityNamed: "Guest")
        #expect(context.mergePolicy(forEntityNamed: "Patron") == .objectTrump)
        try context.setMergePolicy(
            MergePolicy { _, object in
                MergeResolution(object[attribute: "sum"] == .integer(1) ? .storeTrump : .objectTrump)
            }, forEntityNamed: "Patron")
        #expect(context.mergePolicy(forEntityNamed: "City") == .storeTrump)
        let mine = try ids.map { try context.existingObject(with: $0) }
        let other = list.newContext()
        for (object, id) in zip(mine, ids) {
            try object.setValue(.string("mine"), forKey: object.entity.name == "City" ? "name" : "note")
            let there = try other.existingObject(with: id)
            try there.setValue(.string("theirs"), forKey: there.entity.name == "City" ? "name" : "note")
        }
        try mine[2].setValue(.integer(1), forKey: "sum")
        try other.save()

        try context.save()

        #expect(mine[0][attribute: "name"] == .string("theirs"))
        #expect(mine[1...].map { $0[attribute: "note"] } == ["mine", "theirs", "mine"].map { .string($0) })
        try context.setMergePolicy(nil, forEntityNamed: "Guest")
        #expect(context.mergePolicy(forEntityNamed: "Guest") == .storeTrump)
    }

    @Test func `a policy is set by the class of its objects, too`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let context = ManagedObjectContext(PersistentStoreCoordinator(managedObjectModel: model))
        context.mergePolicy = .storeTrump

        try context.setMergePolicy(.objectTrump, for: Album.self)

        #expect(context.mergePolicy(forEntityNamed: "Album") == .objectTrump)
        #expect(context.mergePolicy(forEntityNamed: "Artist") == .storeTrump)
        try context.setMergePolicy(nil, for: Album.self)
        #expect(context.mergePolicy(forEntityNamed: "Album") == .storeTrump)
    }

    @Test(arguments: StoreKind.allCases)
    func `answers that cannot be followed are refused together, and leave the context as it was`(
        _ kind: StoreKind
    ) throws {
        let row = MergeTableTests.rows[0]
        let nonsense: [(String, MergeResolution.Choice)] = [
            ("wrong", .mine), ("a", .value(.string("x"))), ("a", .destinations([])), ("best", .value(.integer(1))),
            ("best", .destinations([])), ("tags", .value(.integer(1))), ("tags", .value(.null)),
        ]
        for (name, choice) in nonsense {
            let board = try contested(
                kind, row,
                MergePolicy { _, _ in MergeResolution(.objectTrump, choices: [name: choice, "ghost": .stored]) })
            let before = try board.state(of: board.mine)

            let error = contextError { try board.mine.save() }

            guard case .refusedResolutions(let refused)? = error else {
                Issue.record("\(name) \(choice): \(String(describing: error))")
                continue
            }
            #expect(error?.code == 133020)
            #expect(Set(refused.map(\.property)) == [name, "ghost"], "\(name) \(choice)")
            #expect(try board.state(of: board.mine) == before && board.mine.hasChanges)
            #expect(board.mine.recordedViolations.isEmpty)
            board.mine.mergePolicy = .objectTrump
            try board.mine.save()
            #expect(try board.stored()["0"]?["a"] == ["1"])
            try board.expectAgreement("\(name)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an answer that cannot be followed leaves a child and its parent as they were`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 2)
        let child = ManagedObjectContext(parent: board.mine)
        child.automaticallyMergesChangesFromParent = false
        let (here, above) = (try board.peg("0", in: child), try board.peg("0", in: board.mine))
        here.a = 1
        above.a = 2
        child.mergePolicy = MergePolicy { _, _ in MergeResolution(.objectTrump, choices: ["ghost": .mine]) }

        guard case .refusedResolutions(let refused)? = contextError({ try child.save() }) else {
            Issue.record("a choice for no property")
            return
        }

        #expect(refused.map(\.property) == ["ghost"] && here.a == 1 && above.a == 2 && child.hasChanges)
        child.mergePolicy = .objectTrump
        for context in [child, board.mine] { try context.save() }
        #expect(try board.stored()["0"]?["a"] == ["1"] && !child.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy may refuse by an error of its own, and by the rule error`(_ kind: StoreKind) throws {
        struct Unclear: Error {}
        for throwsError in [true, false] {
            let board = try contested(
                kind, MergeTableTests.rows[0],
                MergePolicy { _, _ in
                    if throwsError { throw Unclear() }
                    return MergeResolution(.error)
                })
            let before = try board.state(of: board.mine)
            switch contextError({ try board.mine.save() }) {
            case .refusedResolutions(let refused)?:
                #expect(throwsError && "\(refused)".contains("Unclear"))
            case .conflicts(let conflicts)?:
                #expect(!throwsError && conflicts.count == 1 && conflicts[0]["a"] != nil)
            case let error: Issue.record("\(String(describing: error))")
            }
            #expect(try board.state(of: board.mine) == before)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy decides about rows that are gone, and about destinations that are`(_ kind: StoreKind) throws {
        for rule in Self.resolving {
            let asked = Questions()
            let board = try PegBoard(kind, count: 4)
            board.mine.mergePolicy = MergePolicy { conflict, object in
                asked.note(conflict)
                var resolution = MergeResolution(rule)
                if conflict.newVersion == nil, rule == .objectTrump || rule == .overwrite {
                    resolution["b"] = .value(.integer(9))
                } else if !conflict.missingDestinations.isEmpty, let context = object.managedObjectContext {
                    let other = try context.fetch(FetchRequest<Peg>(try FetchPredicate(format: "name == '3'")))
                    resolution["best"] = .value(.objectID(other[0].objectID))
                }
                return resolution
            }
            try board.set("0", "a", ["1"], in: board.mine)
            try board.set("1", "best", ["2"], in: board.mine)
            let gone = try board.peg("2", in: board.mine).objectID
            for name in ["0", "2"] { try board.theirs.delete(board.peg(name, in: board.theirs)) }
            try board.theirs.save()

            try board.mine.save()

            let stored = try board.stored()
            let isKept = rule == .objectTrump || rule == .overwrite
            #expect(stored["0"]?["b"] == (isKept ? ["9"] : nil), "\(rule)")
            #expect(stored["1"]?["best"] == ["3"], "\(rule)")
            #expect(asked.all.contains { $0.missingDestinations == [gone] })
            try board.expectAgreement("\(rule)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy may fetch and change other objects, which the save writes too`(_ kind: StoreKind) throws {
        let board = try contested(
            kind, MergeTableTests.rows[0],
            MergePolicy { _, object in
                let context = try #require(object.managedObjectContext)
                for peg in try context.fetch(FetchRequest<Peg>()) where peg !== object { peg.b = 7 }
                Peg(context: context).name = "new"
                return MergeResolution(.objectTrump)
            })
        try board.mine.save()
        let stored = try board.stored()
        #expect(stored["new"] != nil && stored["1"]?["b"] == ["7"] && stored["0"]?["b"] == ["5"])
        try board.expectAgreement("changes")
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy cannot save or roll back its context, and one that never settles ends with the conflict`(
        _ kind: StoreKind
    ) throws {
        var board = try contested(
            kind, MergeTableTests.rows[0],
            MergePolicy { _, object in
                let context = try #require(object.managedObjectContext)
                let error = contextError { try context.save() }
                guard case .alreadySaving(hook: "the merge policy", object: object.objectID)? = error else {
                    throw ContextError.eventIsNotRecorded
                }
                context.rollback()
                return MergeResolution(.objectTrump)
            })
        let found = violations { try board.mine.save() }
        #expect(found.contains { if case .notWhileSaving = $0.reason { true } else { false } })
        #expect(try board.peg("0", in: board.mine).a == 1)

        let asked = Questions()
        board = try contested(
            kind, MergeTableTests.rows[0],
            MergePolicy { conflict, object in
                asked.note(conflict)
                let context = try #require(object.managedObjectContext)
                let other = ManagedObjectContext(context.persistentStoreCoordinator)
                guard let peg = try other.existingObject(with: object.objectID) as? Peg else { throw Unfit() }
                peg.a += 1
                try other.save()
                return MergeResolution(.objectTrump)
            })
        guard case .conflicts? = contextError({ try board.mine.save() }) else {
            Issue.record("a policy that never settles")
            return
        }
        #expect(asked.all.count == 999)
        #expect(try board.peg("0", in: board.mine).a == 1 && board.mine.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy may delete the object that it is asked about`(_ kind: StoreKind) throws {
        let board = try contested(
            kind, MergeTableTests.rows[0],
            MergePolicy { _, object in
                try object.managedObjectContext?.delete(object)
                return MergeResolution(.objectTrump)
            })
        try board.mine.save()
        #expect(try board.stored()["0"] == nil)
        try board.expectAgreement("deleted")
    }

    @Test func `policies are equal if they follow one rule, or are one policy`() {
        let own = MergePolicy { _, _ in MergeResolution(.rollback) }
        let other = MergePolicy { _, _ in MergeResolution(.rollback) }
        #expect(own == own && own != other && own != .rollback && MergePolicy(.rollback) == .rollback)
        #expect(own.rule == nil && MergePolicy.error.rule == .error)
        #expect(Set([own, other, own, .error, .error]).count == 3)
    }
}

private struct Unfit: Error {}
