// Unique values that another object has already: what the policies and the model's actions make of it, and what a save
// or an early check reports.

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import Testing

@Suite struct ConstraintPolicyTests {
    private static let ada: [String: AttributeValue] = ["name": .string("Ada"), "note": .string("new")]

    /// A list with a stored Ada, whose context asks its policy.
    private func contested(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws -> (list: GuestList, stored: ObjectID) {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old"), "rank": .integer(9)])
        list.context.constraintActions = [:]
        list.context.mergePolicy = policy
        return (list, id)
    }

    /// A policy that decides about constraints only.
    private func own(
        _ resolve: @escaping @Sendable (UniquenessConflict, ManagedObject) throws -> ConstraintResolution
    ) -> MergePolicy {
        MergePolicy({ _, _ in MergeResolution(.error) }, constraints: resolve)
    }

    private func refusal(_ list: GuestList) -> [UniquenessConflict] {
        let error = contextError { try list.context.save() }
        guard case .constraints(let conflicts)? = error else {
            Issue.record("no refusal: \(String(describing: error))")
            return []
        }
        #expect(error?.code == 133021)
        return conflicts
    }

    @Test(arguments: StoreKind.allCases, MergePolicy.Rule.allCases)
    func `each policy decides about a new object whose unique value a row has (MP-10)`(
        _ kind: StoreKind, _ rule: MergePolicy.Rule
    ) throws {
        for isKnown in [false, true] {
            let (list, id) = try contested(kind, MergePolicy(rule))
            let row = isKnown ? try list.context.existingObject(with: id) : nil
            let new = try list.make("Guest", Self.ada)
            let gift = try list.make("Gift")
            try gift.relate("guest", to: new)
            if rule == .error {
                #expect(refusal(list).map(\.stored) == [id])
                #expect(new.isInserted && new.objectID.isTemporary && list.context.insertedObjects == [new, gift])
                try new.setValue(.string("Eva"), forKey: "name")
                try list.save()
                continue
            }
            try list.save()
            #expect(new.objectID == id && !list.context.hasChanges)
            let object = try list.context.existingObject(with: id)
            let takesNew = rule == .objectTrump || rule == .overwrite
            #expect(object.guestText == (takesNew ? "Ada, none, new, 9" : "Ada, none, old, 9"))
            #expect(try gift.ids("guest") == [id])
            withExtendedLifetime(row) {}
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the answer of a policy to one save decides nothing in the next one`(_ kind: StoreKind) throws {
        let (list, id) = try contested(kind, .objectTrump)
        _ = try list.make("Guest", Self.ada)
        try list.save()

        list.context.mergePolicy = .error
        let second = try list.make("Guest", Self.ada)

        #expect(refusal(list).map(\.stored) == [id])
        #expect(second.isInserted)
    }

    @Test(arguments: StoreKind.allCases)
    func `a constraint with a declared action asks no policy (F-6)`(_ kind: StoreKind) throws {
        for (action, expected) in [
            (ConstraintAction.merge, "Ada, none, new, 9"), (.keep, "Ada, none, old, 9"), (.refuse, nil),
        ] {
            let list = try GuestList(kind, declared: [["name"]: action])
            let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old"), "rank": .integer(9)])
            list.context.mergePolicy = own { _, _ in .change(values: ["name": .string("asked")]) }
            _ = try list.make("Guest", Self.ada)
            if let expected {
                try list.save()
                #expect(try list.context.existingObject(with: id).guestText == expected)
            } else {
                #expect(refusal(list).count == 1)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a changed object that takes a value gets its own back, or is refused, as the policy says`(
        _ kind: StoreKind
    ) throws {
        for rule in MergePolicy.Rule.allCases {
            let (list, _) = try contested(kind, MergePolicy(rule))
            let id = try list.store("Guest", ["name": .string("Bob"), "note": .string("his")])
            let bob = try list.context.existingObject(with: id)
            try bob.setValue(.string("Ada"), forKey: "name")
            try bob.setValue(.string("mine"), forKey: "note")
            switch rule {
            case .storeTrump:
                try list.save()
                #expect(bob.guestText == "Bob, none, mine, 3")
            case .rollback:
                try list.save()
                #expect(bob.guestText == "Bob, none, his, 3")
            case .error, .objectTrump, .overwrite:
                #expect(refusal(list).map(\.objects) == [[id]])
                #expect(bob.guestText == "Ada, none, mine, 3" && list.context.updatedObjects == [bob])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy of the application's own merges, keeps, changes or refuses (F-6)`(_ kind: StoreKind) throws {
        struct Unclear: Error {}
        let answers: [(ConstraintResolution?, String)] = [
            (.merge(), "Ada, none, new, 9"), (.keep, "Ada, none, old, 9"),
            (.merge(values: ["rank": .integer(12), "code": .integer(5)]), "Ada, 5, new, 12"),
            (.change(values: ["name": .string("Ada 2")]), "Ada 2, none, new, 3"), (.refuse, ""), (nil, ""),
        ]
        for (answer, expected) in answers {
            for isKnown in [false, true] {
                let (list, id) = try contested(
                    kind,
                    own { _, _ in
                        guard let answer else { throw Unclear() }
                        return answer
                    })
                let row = isKnown ? try list.context.existingObject(with: id) : nil
                let new = try list.make("Guest", Self.ada)
                let gift = try list.make("Gift")
                try new.add([gift], toRelationshipNamed: "gifts")
                if expected.isEmpty {
                    switch contextError({ try list.context.save() }) {
                    case .constraints? where answer != nil: break
                    case .refusedResolutions(let refused)? where answer == nil:
                        #expect("\(refused)".contains("Unclear"))
                    case let error: Issue.record("\(String(describing: error))")
                    }
                    #expect(new.isInserted && list.context.insertedObjects == [new, gift])
                    continue
                }
                try list.save()
                let object = try list.context.existingObject(with: new.objectID)
                #expect(object.guestText == expected && (object.objectID == id) == expected.hasPrefix("Ada,"))
                #expect(try object.ids("gifts") == [gift.objectID])
                withExtendedLifetime(row) {}
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a conflict has all objects with their values, and the row with its own (MP-09)`(_ kind: StoreKind) throws {
        let (list, id) = try contested(kind, .error)
        let city = try list.store("City", ["name": .string("Rome")])
        let guests = try (0..<3).map { number in
            try list.make("Guest", ["name": .string("Ada"), "rank": .integer(Int64(number))])
        }
        let twins = try (0..<2).map { _ in try list.make("Guest", ["name": .string("Eva"), "code": .integer(4)]) }
        try guests[0].relate("city", to: list.context.existingObject(with: city))

        let conflicts = refusal(list)

        #expect(conflicts.count == 3)
        let ada = try #require(conflicts.first { $0.stored != nil })
        #expect(ada.entityName == "Guest" && ada.properties == ["name"] && ada.values == [.string("Ada")])
        #expect(Set(ada.objects) == Set(guests.map(\.objectID)) && ada.stored == id)
        #expect(ada.storedValues["note"] == .string("old") && ada.storedValues["rank"] == .integer(9))
        for (object, values) in zip(ada.objects, ada.objectValues) {
            let guest = try #require(guests.first { $0.objectID == object })
            #expect(values["rank"] == guest[attribute: "rank"])
            #expect(values["city"] == (guest === guests[0] ? .objectID(city) : .null))
        }
        for conflict in conflicts where conflict.stored == nil {
            #expect(Set(conflict.objects) == Set(twins.map(\.objectID)) && conflict.storedValues.isEmpty)
        }
        #expect(Set(conflicts.map(\.properties)) == [["name"], ["code"]])
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy counts what several new objects bring to one row`(_ kind: StoreKind) throws {
        let (list, id) = try contested(
            kind,
            own { conflict, object in
                guard case .integer(let rank) = object[attribute: "rank"],
                    case .integer(let former)? = conflict.storedValues["rank"]
                else { return .merge() }
                return .merge(values: ["rank": .integer(former + rank)])
            })
        _ = try list.make("Guest", ["name": .string("Ada"), "rank": .integer(30)])
        try list.save()
        #expect(try list.context.existingObject(with: id)[attribute: "rank"] == .integer(39))
        let twins = try (1...3).map { try list.make("Guest", ["name": .string("Eva"), "rank": .integer($0)]) }
        try list.save()
        #expect(Set(twins.map(\.objectID)).count == 1 && !twins[0].objectID.isTemporary)
        #expect(twins.filter { $0.managedObjectContext != nil }.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `new objects that a policy merges in a row are all the last one`(_ kind: StoreKind) throws {
        // Each shares a value with the next, and there are two values for each object.
        let chain: [[String: AttributeValue]] = [
            ["name": .string("a")], ["name": .string("a"), "code": .integer(1)],
            ["code": .integer(1), "name": .string("b")], ["name": .string("b"), "code": .integer(2)],
            ["code": .integer(2)],
        ]
        for first in chain.indices {
            for isReversed in [false, true] {
                let (list, _) = try contested(kind, own { _, _ in .merge() })
                let values = Array(chain[first...] + chain[..<first])
                let guests = try (isReversed ? values.reversed() : values).map { try list.make("Guest", $0) }
                do {
                    try list.save()
                } catch {
                    // Two objects with two values each cannot be one.
                    #expect(error as? ContextError != nil && guests.allSatisfy(\.isInserted))
                    continue
                }
                #expect(guests.allSatisfy { !$0.objectID.isTemporary }, "\(first) \(isReversed)")
                for guest in guests {
                    #expect(list.context.registeredObject(for: guest.objectID) != nil, "\(first) \(isReversed)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an answer that cannot be followed is refused, and a refusal after a merge leaves new objects new`(
        _ kind: StoreKind
    ) throws {
        let nonsense: [ConstraintResolution] = [
            .merge(values: ["ghost": .integer(1)]), .merge(values: ["rank": .string("x")]),
            .change(values: ["gifts": .integer(1)]),
        ]
        for answer in nonsense {
            let (list, id) = try contested(kind, own { _, _ in answer })
            let row = try list.context.existingObject(with: id)
            let new = try list.make("Guest", Self.ada)
            guard case .refusedResolutions? = contextError({ try list.context.save() }) else {
                Issue.record("\(answer)")
                continue
            }
            #expect(new.isInserted && new.guestText == "Ada, none, new, 3")
            #expect(row.guestText == "Ada, none, old, 9" && list.context.insertedObjects == [new])
            #expect(list.context.updatedObjects.isEmpty && list.context.recordedViolations.isEmpty)
        }
        let (list, id) = try contested(kind, own { _, _ in .merge() })
        let bob = try list.context.existingObject(with: list.store("Guest", ["name": .string("Bob")]))
        let new = try list.make("Guest", Self.ada)
        try bob.setValue(.string("Ada"), forKey: "name")
        let error = contextError { try list.context.save() }
        #expect(error != nil && new.isInserted && bob.guestText == "Ada, none, none, 3")
        try bob.setValue(.string("Bo"), forKey: "name")
        try list.save()
        #expect(new.objectID == id)
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy that never settles a constraint, or saves, ends with an error`(_ kind: StoreKind) throws {
        let counter = Counter()
        let (list, _) = try contested(
            kind,
            own { _, object in
                counter.count()
                let context = try #require(object.managedObjectContext)
                guard case .alreadySaving? = contextError({ try context.save() }) else { return .merge() }
                return .change(values: ["note": .string("still Ada")])
            })
        let new = try list.make("Guest", Self.ada)
        #expect(refusal(list).count == 1)
        #expect(counter.value > 1 && counter.value < 20 && new.guestText == "Ada, none, new, 3")
    }

    @Test(arguments: StoreKind.allCases)
    func `a resolver that decides about conflicts only refuses broken constraints`(_ kind: StoreKind) throws {
        let (list, id) = try contested(kind, MergePolicy(ConflictResolver()))
        let row = try list.context.existingObject(with: id)
        let other = list.newContext()
        try other.existingObject(with: id).setValue(.string("theirs"), forKey: "note")
        try row.setValue(.string("mine"), forKey: "note")
        try other.save()
        let new = try list.make("Guest", Self.ada)
        #expect(refusal(list).map(\.objects) == [[new.objectID]])
        try new.setValue(.null, forKey: "name")
        try list.save()
        #expect(row.guestText == "Ada, none, mine, 9")
    }

    @Test(arguments: StoreKind.allCases)
    func `equal values in memory are found before a save, without asking a store (C-05)`(_ kind: StoreKind) throws {
        let (list, id) = try contested(kind, .error)
        let context = list.context
        let bobID = try list.store("Guest", ["name": .string("Bob")])
        #expect(context.uniquenessConflicts().isEmpty)
        let new = try list.make("Guest", Self.ada)
        #expect(context.uniquenessConflicts().isEmpty)
        let row = try context.existingObject(with: id)
        let trips = context.faultTrips
        let conflict = try #require(context.uniquenessConflicts().first)
        #expect(conflict.objects == [new.objectID] && conflict.stored == id && conflict.properties == ["name"])
        let patron = try list.make("Patron", ["name": .string("Ada"), "code": .integer(1)])
        for _ in 0..<2 { _ = try list.make("Guest") }
        #expect(context.uniquenessConflicts().map { Set($0.objects) } == [[new.objectID, patron.objectID]])
        try row.setValue(.string("Eva"), forKey: "name")
        #expect(context.uniquenessConflicts().map(\.stored) == [nil])
        try context.delete(patron)
        #expect(context.uniquenessConflicts().isEmpty && context.faultTrips == trips)
        let bob = try context.existingObject(with: bobID)
        _ = try list.make("Guest", ["name": .string("Bob")])
        #expect(context.uniquenessConflicts().map(\.stored) == [bob.objectID])
        try context.delete(bob)
        #expect(context.uniquenessConflicts().isEmpty)
        let child = ManagedObjectContext(parent: context)
        for _ in 0..<2 { _ = try list.make("Guest", ["code": .integer(7)], in: child) }
        #expect(child.uniquenessConflicts().map(\.properties) == [["code"]])
        try child.save()
        #expect(context.uniquenessConflicts().map(\.properties) == [["code"]])
        context.mergePolicy = .objectTrump
        try list.save()
        #expect(context.uniquenessConflicts().isEmpty)
    }
}

private struct ConflictResolver: MergeResolver {
    func resolve(_ conflict: MergeConflict, of object: ManagedObject) -> MergeResolution {
        MergeResolution(.objectTrump)
    }
}

private final class Counter: Sendable {
    private let calls = Mutex(0)
    var value: Int { calls.withLock { $0 } }
    func count() { calls.withLock { $0 += 1 } }
}
