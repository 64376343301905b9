// Two contexts set one object's to-one relationship to different objects: the result under each merge policy.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// An object with to-one relationships of every kind, all of them to other knots.
final class Knot: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Knot",
            properties: [
                EntityDescription._property("name", String.self),
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("best", Knot?.self, options: .init(inverse: "fans")),
                EntityDescription._property("fans", Set<Knot>.self, options: .init(inverse: "best")),
                EntityDescription._property("head", Knot?.self, options: .init(inverse: "queue")),
                EntityDescription._property("queue", [Knot].self, options: .init(inverse: "head")),
                EntityDescription._property("mate", Knot?.self, options: .init(inverse: "mateOf")),
                EntityDescription._property("mateOf", Knot?.self, options: .init(inverse: "mate")),
                EntityDescription._property("partner", Knot?.self, options: .init(inverse: "partner")),
                EntityDescription._property("liked", Knot?.self),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var number: Int {
        get { _get("number", at: 1) }
        set { _set("number", at: 1, newValue) }
    }

    struct SelfLike: Error {}

    /// A rule about two properties, which both sides of a conflict can meet while the merged row breaks it.
    override func validateForUpdate() throws {
        if number == -1, case .toOne(let object) = try value(forKey: "liked"), object === self { throw SelfLike() }
    }
}

@Suite struct ToOneConflictTests {
    /// The to-one relationships, each with its inverse.
    static let toOnes: [(String, String?)] = [
        ("best", "fans"), ("head", "queue"), ("mate", "mateOf"), ("mateOf", "mate"), ("partner", "partner"),
        ("liked", nil),
    ]
    /// The first destination of a relationship, then the one set here and the one set there; 9 is no destination.
    static let changes: [(Int, Int, Int)] = [(9, 2, 3), (1, 2, 3), (1, 9, 3), (1, 2, 9), (1, 2, 2)]
    static let policies: [MergePolicy] = [.storeTrump, .objectTrump, .overwrite, .rollback, .error]
    static let resolving: [MergePolicy] = [.storeTrump, .objectTrump, .overwrite, .rollback]

    /// A store with some knots, "0" and on, and two contexts that have read all of them and their relationships.
    final class Web {
        let coordinator: PersistentStoreCoordinator
        private let folder: URL
        let mine: ManagedObjectContext
        let theirs: ManagedObjectContext
        /// The knots that both contexts have read: a context alone does not hold its objects.
        private var held: [Knot] = []

        init(_ kind: StoreKind, count: Int, _ prepare: ([Knot]) -> Void = { _ in }) throws {
            coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Knot.self]))
            folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let path = folder.appending(path: "knots.espalier").path
            try coordinator.addPersistentStore(kind == .inMemory ? .inMemory : PersistentStoreDescription(path: path))
            (mine, theirs) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
            let made = ManagedObjectContext(coordinator)
            let knots = (0..<count).map { number in
                let knot = Knot(context: made)
                knot.name = "\(number)"
                return knot
            }
            prepare(knots)
            try made.save()
            for context in [mine, theirs] {
                held += try self.knots(context)
                _ = try state(of: context)
            }
        }

        deinit {
            for store in coordinator.persistentStores { try? store.close() }
            try? FileManager.default.removeItem(at: folder)
        }

        func knots(_ context: ManagedObjectContext) throws -> [Knot] {
            try context.fetch(FetchRequest<Knot>(sortedBy: [SortKey("name")]))
        }

        /// For each knot, by name: its number and the names of the destinations of every relationship.
        func state(of context: ManagedObjectContext) throws -> [String: [String]] {
            var state: [String: [String]] = [:]
            for knot in try knots(context) {
                var lines = ["\(knot.number)"]
                for relationship in knot.entity.relationships {
                    let names = try destinations(of: knot, relationship.name).map(\.name).sorted()
                    lines.append(relationship.name + ": " + names.joined(separator: " "))
                }
                state[knot.name] = lines
            }
            return state
        }

        func destinations(of knot: Knot, _ name: String) throws -> [Knot] {
            switch try knot.value(forKey: name) {
            case .toOne(let object): return (object as? Knot).map { [$0] } ?? []
            case .toMany(let objects): return objects as? [Knot] ?? []
            case .attribute: return []
            }
        }

        /// The relationships whose two sides differ.
        func oneSided(_ context: ManagedObjectContext) throws -> [String] {
            var wrong: [String] = []
            for knot in try knots(context) {
                for relationship in knot.entity.relationships {
                    guard let inverse = relationship.inverse.map({ knot.entity.relationships[$0].name }) else {
                        continue
                    }
                    for other in try destinations(of: knot, relationship.name) {
                        let back = try destinations(of: other, inverse)
                        if back.filter({ $0 === knot }).count != 1 { wrong.append(knot.name + "." + relationship.name) }
                    }
                }
            }
            return wrong
        }

        /// Requires `mine`, `theirs` after a refresh, and a fresh context to read the same, with both sides equal in
        /// each.
        func expectAgreement(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) throws {
            theirs.refreshAllObjects()
            let fresh = ManagedObjectContext(coordinator)
            let stored = try state(of: fresh)
            #expect(try state(of: mine) == stored, comment, sourceLocation: sourceLocation)
            #expect(try state(of: theirs) == stored, comment, sourceLocation: sourceLocation)
            for context in [mine, theirs, fresh] {
                #expect(try oneSided(context).isEmpty, comment, sourceLocation: sourceLocation)
            }
            #expect(!mine.hasChanges && mine.recordedViolations.isEmpty, comment, sourceLocation: sourceLocation)
        }

        func destination(of number: Int, _ name: String, _ context: ManagedObjectContext) throws -> String {
            try destinations(of: try knots(context)[number], name).first?.name ?? "9"
        }
    }

    private func lead(_ knots: [Knot], _ owner: Int, _ name: String, to other: Int) throws {
        let destination: Knot? = other < knots.count ? knots[other] : nil
        try knots[owner].setValue(PropertyValue.toOne(destination), forKey: name)
    }

    /// Sets a relationship of the first knot to `base`, lets both contexts make their changes and save; returns the
    /// number of its destination, "9" if it has none.
    private func destination(
        of name: String, from base: Int, _ kind: StoreKind, _ policy: MergePolicy, _ comment: Comment,
        there: ([Knot]) throws -> Void, here: ([Knot]) throws -> Void
    ) throws -> String {
        let web = try Web(kind, count: 5) { knots in try? lead(knots, 0, name, to: base) }
        web.mine.mergePolicy = policy
        let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
        try there(theirs)
        try web.theirs.save()
        try here(mine)

        try web.mine.save()

        try web.expectAgreement(comment)
        return try web.destination(of: 0, name, web.mine)
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `a to-one relationship that both sides changed is resolved as the policy says`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        let isMine = policy == .objectTrump || policy == .overwrite
        for (name, _) in Self.toOnes {
            for (base, here, there): (Int, Int, Int) in Self.changes {
                let comment: Comment = "\(name): \(base), here \(here), there \(there)"

                let found = try destination(of: name, from: base, kind, policy, comment) {
                    try lead($0, 0, name, to: there)
                } here: {
                    try lead($0, 0, name, to: here)
                }

                #expect(found == "\(isMine ? here : there)", comment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `of two pairs that exclude each other the preferred side's one stays, whichever end is first`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        let isMine = policy == .objectTrump || policy == .overwrite
        for name in ["mate", "mateOf", "partner"] {
            for numbers in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let (owner, here, there) = (numbers[0], numbers[1], numbers[2])
                let web = try Web(kind, count: 3)
                web.mine.mergePolicy = policy
                let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
                try lead(theirs, owner, name, to: there)
                // With this change both ends of the pair made here are in conflict, and each is resolved by itself.
                theirs[here].number = 7
                try web.theirs.save()
                try lead(mine, owner, name, to: here)

                try web.mine.save()

                let comment: Comment = "\(name) of \(owner): here \(here), there \(there)"
                try web.expectAgreement(comment)
                #expect(try web.destination(of: owner, name, web.mine) == "\(isMine ? here : there)", comment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `a to-one relationship that only the store changed follows the store, unless the object overwrites it`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for (name, _) in Self.toOnes {
            for (base, there) in [(9, 3), (1, 3), (1, 9)] {
                let comment: Comment = "\(name): \(base), there \(there)"

                let found = try destination(of: name, from: base, kind, policy, comment) {
                    try lead($0, 0, name, to: there)
                } here: {
                    $0[0].number = 7
                }

                #expect(found == "\(policy == .overwrite ? base : there)", comment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `a to-one relationship that only the object changed stays changed, unless it is rolled back`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for (name, _) in Self.toOnes {
            for (base, here) in [(9, 2), (1, 2), (1, 9)] {
                let comment: Comment = "\(name): \(base), here \(here)"

                let found = try destination(of: name, from: base, kind, policy, comment) {
                    $0[0].number = 7
                } here: {
                    try lead($0, 0, name, to: here)
                }

                #expect(found == "\(policy == .rollback ? base : here)", comment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `under the policy error both sides stay as they were, and equal, and a refresh lets the save through`(
        _ kind: StoreKind
    ) throws {
        for (name, _) in Self.toOnes {
            let web = try Web(kind, count: 5) { knots in try? lead(knots, 0, name, to: 1) }
            let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
            try lead(theirs, 0, name, to: 3)
            try web.theirs.save()
            try lead(mine, 0, name, to: 2)
            let before = try web.state(of: web.mine)

            guard case .conflicts? = contextError({ try web.mine.save() }) else {
                Issue.record("no conflict about \(name)")
                continue
            }

            #expect(try web.state(of: web.mine) == before)
            web.mine.refreshAllObjects()
            try web.mine.save()
            #expect(try web.destination(of: 0, name, web.mine) == "2")
            try web.expectAgreement("\(name)")
        }
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `what the store gave to a third object ends up at one of them, on both sides`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        // `isChanged`: whether that object is changed here too, so that it gets the newer row through a conflict of its
        // own.
        for (name, isChanged) in ["mate", "mateOf", "partner"].flatMap({ [($0, false), ($0, true)] }) {
            let web = try Web(kind, count: 6)
            web.mine.mergePolicy = policy
            let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
            try lead(theirs, 0, name, to: 1)
            try lead(theirs, 5, name, to: 2)
            try web.theirs.save()
            try lead(mine, 0, name, to: 2)
            mine[1].number = 4
            if isChanged { mine[5].number = 6 }

            try web.mine.save()

            let isMine = policy == .objectTrump || policy == .overwrite
            let comment: Comment = "\(name), changed here: \(isChanged)"
            #expect(try web.destination(of: 0, name, web.mine) == (isMine ? "2" : "1"), comment)
            #expect(try web.destination(of: 5, name, web.mine) == (isMine ? "9" : "2"), comment)
            try web.expectAgreement(comment)
        }
    }

    @Test(arguments: StoreKind.allCases, ["mate", "mateOf", "partner"])
    func `an object that overwrites the store takes back what the store gave to a third one`(
        _ kind: StoreKind, _ name: String
    ) throws {
        let web = try Web(kind, count: 5) { knots in try? lead(knots, 2, name, to: 3) }
        web.mine.mergePolicy = .overwrite
        let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
        try lead(theirs, 0, name, to: 3)
        try web.theirs.save()
        mine[2].number = 5

        try web.mine.save()

        #expect(try web.destination(of: 2, name, web.mine) == "3")
        #expect(try web.destination(of: 0, name, web.mine) == "9")
        try web.expectAgreement("\(name)")
    }

    @Test(arguments: StoreKind.allCases, [MergePolicy.objectTrump, .overwrite])
    func `an object that was deleted here is led to by nothing, whatever newer rows say`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for (name, _) in Self.toOnes {
            let web = try Web(kind, count: 5)
            web.mine.mergePolicy = policy
            let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
            try lead(theirs, 0, name, to: 2)
            try web.theirs.save()
            try web.mine.delete(mine[2])
            mine[0].number = 7

            try web.mine.save()

            #expect(try web.knots(web.mine).map(\.name) == ["0", "1", "3", "4"])
            #expect(try web.destination(of: 0, name, web.mine) == "9", "\(name)")
            try web.expectAgreement("\(name)")
        }
    }

    @Test(arguments: StoreKind.allCases, resolving)
    func `an object whose row is gone leaves nothing at the other end`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for (name, inverse) in Self.toOnes {
            let web = try Web(kind, count: 5) { knots in try? lead(knots, 0, name, to: 1) }
            web.mine.mergePolicy = policy
            let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
            try web.theirs.delete(theirs[0])
            try web.theirs.save()
            mine[0].number = 8
            try lead(mine, 0, name, to: 2)

            try web.mine.save()

            let isMine = policy == .objectTrump || policy == .overwrite
            #expect(try web.knots(web.mine).count == (isMine ? 5 : 4))
            if let inverse { #expect(try mine[2].objectIDs(forRelationshipNamed: inverse).count == (isMine ? 1 : 0)) }
            try web.expectAgreement("\(name)")
        }
    }

    @Test(arguments: StoreKind.allCases, [("fans", "best"), ("queue", "head")])
    func `an object that is rolled back has the members that the store has, and they lead to it`(
        _ kind: StoreKind, _ relationship: (name: String, inverse: String)
    ) throws {
        let (name, inverse) = relationship
        let web = try Web(kind, count: 4) { knots in
            for owner in [1, 2] { try? lead(knots, owner, inverse, to: 0) }
        }
        web.mine.mergePolicy = .rollback
        let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
        theirs[0].number = 7
        try web.theirs.save()
        try mine[0].setValue(PropertyValue.toMany([mine[2], mine[3]]), forKey: name)
        mine[0].number = 3

        try web.mine.save()

        #expect(try web.destinations(of: mine[0], name).map(\.name).sorted() == ["1", "2"])
        #expect(try web.destination(of: 1, inverse, web.mine) == "0")
        #expect(try web.destination(of: 3, inverse, web.mine) == "9")
        #expect(mine[0].number == 7)
        try web.expectAgreement("\(name)")
    }

    @Test(arguments: StoreKind.allCases, ["mate", "mateOf", "partner"])
    func `a save that fails after conflicts were resolved leaves the context as it was`(
        _ kind: StoreKind, _ name: String
    ) throws {
        let web = try Web(kind, count: 5) { knots in try? lead(knots, 0, name, to: 1) }
        web.mine.mergePolicy = .storeTrump
        let (mine, theirs) = (try web.knots(web.mine), try web.knots(web.theirs))
        try lead(theirs, 0, name, to: 3)
        try lead(theirs, 0, "liked", to: 0)
        try web.theirs.save()
        try lead(mine, 0, name, to: 2)
        mine[0].number = -1
        let before = try web.state(of: web.mine)

        guard case .violations? = contextError({ try web.mine.save() }) else {
            Issue.record("a knot that likes itself was saved with the number -1")
            return
        }

        #expect(try web.state(of: web.mine) == before)
        mine[0].number = 4
        try web.mine.save()
        #expect(try web.destination(of: 0, name, web.mine) == "3")
        try web.expectAgreement("\(name)")
    }

    @Test(arguments: policies)
    func `random changes of two contexts end in one graph whose sides are equal`(_ policy: MergePolicy) throws {
        let seed = testSeed(default: 61)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<30 {
            let web = try Web(.inMemory, count: Int.random(in: 3...5, using: &random))
            (web.mine.mergePolicy, web.theirs.mergePolicy) = (policy, policy)
            var log = "seed \(seed)"
            for _ in 0..<6 {
                for context in [web.theirs, web.mine] { try change(context, of: web, &random, &log) }
                for context in [web.theirs, web.mine] { try save(context) }
                for context in [web.mine, web.theirs] { context.refreshAllObjects() }
                log += "; saved"
                try web.expectAgreement(Comment(rawValue: log))
            }
        }
    }

    private func change(
        _ context: ManagedObjectContext, of web: Web, _ random: inout SeededGenerator, _ log: inout String
    ) throws {
        let knots = try web.knots(context)
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let (name, _) = Self.toOnes[Int.random(in: 0..<Self.toOnes.count, using: &random)]
            let owner = Int.random(in: 0..<knots.count, using: &random)
            let other = Int.random(in: 0...knots.count, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 { knots[owner].number += 1 }
            try lead(knots, owner, name, to: other)
            log += "; \(context === web.mine ? "mine" : "theirs") \(owner).\(name) = \(other)"
        }
    }

    /// Saves; under the policy `.error` a failed save is followed by a refresh of all objects and a second save.
    private func save(_ context: ManagedObjectContext) throws {
        guard context.mergePolicy == .error, contextError({ try context.save() }) != nil else {
            return try context.save()
        }
        context.refreshAllObjects()
        try context.save()
    }
}
