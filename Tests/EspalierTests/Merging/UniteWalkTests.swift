// Random work of two contexts on one store with unique values, and of a child of one: objects are united and merged by
// saves, related, edited and deleted. After every save each object in memory reads what a fresh context reads, also in
// the child if it has no changes, and the store is whole.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct UniteWalkTests {
    @Test(arguments: StoreKind.allCases)
    func `random uniting and merging leaves one object for a row, and both ends of relationships equal`(
        _ kind: StoreKind
    ) throws {
        var (mergedCount, unitedCount, comparedCount) = (0, 0, 0)
        for run in 0..<UInt64(campaignCount("ESPALIER_UNITE_WALKS", default: kind == .inMemory ? 12 : 3)) {
            guard let walk = try take(kind, seed: testSeed(default: 50_000) &+ run) else { return }
            mergedCount += walk.mergedCount
            unitedCount += walk.unitedCount
            comparedCount += walk.comparedCount
        }
        #expect(mergedCount > 0 && unitedCount > 0 && comparedCount > 0, "the walks try too little")
    }

    @Test(arguments: StoreKind.allCases, [901_064, 902_628])
    func `walks of united objects that have failed once do not fail again`(_ kind: StoreKind, _ seed: UInt64) throws {
        _ = try take(kind, seed: seed)
    }

    /// The walk of a seed; `nil` if it has failed.
    private func take(_ kind: StoreKind, seed: UInt64) throws -> UniteWalk? {
        let walk = try UniteWalk(kind, seed: seed)
        for step in 0..<150 {
            do { try walk.takeStep() } catch ContextError.violations {
                // A row that others have deleted refuses changes.
            } catch {
                Issue.record("seed \(seed), step \(step): \(error)")
            }
            guard walk.hasNoIssue else {
                Issue.record("seed \(seed), step \(step): \(walk.issues)")
                return nil
            }
        }
        return walk
    }
}

private final class UniteWalk {
    private let list: GuestList
    private let contexts: [ManagedObjectContext]
    private var random: SeededGenerator
    /// Objects that the program keeps, by context.
    private var kept: [[ManagedObject]] = [[], [], []]
    private(set) var issues = ""
    private(set) var mergedCount = 0
    private(set) var unitedCount = 0
    /// How often the child was compared with the store.
    private(set) var comparedCount = 0

    init(_ kind: StoreKind, seed: UInt64) throws {
        list = try GuestList(kind)
        contexts = [list.context, list.newContext(), ManagedObjectContext(parent: list.context)]
        random = SeededGenerator(seed: seed)
        for context in contexts {
            context.mergePolicy = .objectTrump
            context.automaticallyMergesChangesFromParent = true
        }
    }

    var hasNoIssue: Bool { issues.isEmpty }

    private func pick<Choice>(_ choices: [Choice]) -> Choice? {
        choices.isEmpty ? nil : choices[Int(random.next() % UInt64(choices.count))]
    }

    private func objects(_ side: Int, _ entityName: String) -> [ManagedObject] {
        kept[side].filter { $0.managedObjectContext != nil && !$0.isDeleted && $0.entity.name == entityName }
    }

    func takeStep() throws {
        let side = Int(random.next() % 3)
        let context = contexts[side]
        switch random.next() % 16 {
        case 0...2:
            let name = random.next() % 4 == 0 ? AttributeValue.null : .string("\(random.next() % 8)")
            let guest = try list.make("Guest", ["name": name, "note": .string("\(random.next() % 50)")], in: context)
            if random.next() % 3 == 0 { try guest.setValue(.integer(Int64(random.next() % 30)), forKey: "code") }
            kept[side].append(guest)
        case 3:
            let entityName = pick(["City", "Badge", "Club", "Gift"]) ?? ""
            kept[side].append(try list.make(entityName, in: context))
        case 4...8: try relate(side)
        case 9:
            guard let guest = pick(objects(side, "Guest")) else { return }
            try guest.setValue(.string("\(random.next() % 50)"), forKey: "note")
        case 10:
            guard let object = pick(kept[side].filter { $0.managedObjectContext != nil && !$0.isDeleted }) else {
                return
            }
            try context.delete(object)
        case 11:
            kept[side] = kept[side].filter { $0.managedObjectContext != nil && !$0.isDeleted }
            for name in ["Guest", "City", "Club"] where random.next() % 2 == 0 {
                let known = Set(kept[side])
                kept[side] += try context.fetch(FetchRequest<ManagedObject>(entityName: name))
                    .filter { !known.contains($0) }
            }
        case 12:
            // Objects that nobody keeps end, so that rows are met of which the context has no object.
            kept[side] = kept[side].filter { _ in random.next() % 2 == 0 }
        case 13 where side < 2: try unite(side)
        case 13: context.rollback()
        default: try side < 2 ? save(side) : saveChild()
        }
    }

    private func relate(_ side: Int) throws {
        guard let guest = pick(objects(side, "Guest")) else { return }
        let relationship = pick(["city", "badge", "host", "clubs", "friends", "gifts", "marks"]) ?? ""
        let destinations = [
            "city": "City", "badge": "Badge", "host": "Guest", "clubs": "Club", "friends": "Guest", "gifts": "Gift",
            "marks": "City",
        ]
        guard let other = pick(objects(side, destinations[relationship] ?? "")) else { return }
        if ["city", "badge", "host"].contains(relationship) {
            let former = try guest.ids(relationship).first
            let destination = random.next() % 5 == 0 ? nil : other
            if former != destination?.objectID { try guest.relate(relationship, to: destination) }
        } else if random.next() % 5 == 0 {
            try guest.remove([other], fromRelationshipNamed: relationship)
        } else {
            try guest.add([other], toRelationshipNamed: relationship)
        }
    }

    /// Unites a new guest with another one, in memory or not.
    private func unite(_ side: Int) throws {
        let context = contexts[side]
        guard let new = pick(objects(side, "Guest").filter(\.isInserted)) else { return }
        // The context reads the newest generation, as a new one does.
        context.processPendingChanges()
        let rows = try list.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Guest")).map(\.objectID)
        let others = objects(side, "Guest").filter { $0 !== new }.map(\.objectID)
        guard let id = pick(rows + others), context.registeredObject(for: id)?.isDeleted != true else { return }
        // Its unique values are those of the row, or free.
        for name in ["name", "code"] { try new.setValue(.null, forKey: name) }
        let united = try context.unite(new, with: id, random.next() % 3 == 0 ? .keep : .merge)
        unitedCount += 1
        if united.objectID != id || context.registeredObject(for: id) !== united {
            issues += "\(id) is another object; "
        }
        kept[side].append(united)
    }

    /// Saves the child's changes to its parent.
    private func saveChild() throws {
        do throws(ContextError) {
            try contexts[2].save()
        } catch {
            switch error {
            case .violations, .references: return contexts[2].rollback()
            default: throw error
            }
        }
    }

    private func save(_ side: Int) throws {
        let context = contexts[side]
        context.processPendingChanges()
        let inserted = context.insertedObjects
        let keeps = random.next() % 4 == 0
        context.constraintActions = keeps ? GuestList.keepsAll : GuestList.mergesAll
        // The same by a policy that is asked.
        let isAsked = random.next() % 3 == 0
        if isAsked {
            context.constraintActions = [:]
            context.mergePolicy = MergePolicy { _, _ in
                MergeResolution(.objectTrump)
            } constraints: { _, object in
                object.isInserted ? keeps ? .keep : .merge() : .refuse
            }
        }
        defer { context.mergePolicy = .objectTrump }
        do throws(ContextError) {
            try context.save()
        } catch {
            switch error {
            case .constraints, .violations:
                // An object that shares values with two rows is given up, and so are changes of a row that is gone.
                return context.rollback()
            default: throw error
            }
        }
        for object in inserted where object.managedObjectContext == nil {
            mergedCount += 1
            if object.objectID.isTemporary || context.registeredObject(for: object.objectID) === object {
                issues += "\(object.objectID) has left and says nothing; "
            }
        }
        context.compareWithFreshContext()
        let child = contexts[2]
        child.processPendingChanges()
        if side == 0, !child.hasChanges {
            child.compareWithFreshContext()
            comparedCount += 1
        }
        try list.check()
    }
}
