// Random changes in a context that observes broken constraints, beside another context that saves: each event tells
// exactly the conflicts that an oracle finds by comparing everything with everything.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct EventConstraintWalkTests {
    @Test(arguments: StoreKind.allCases, [false, true])
    func `each event tells the unique values that it has taken, and no others`(
        _ kind: StoreKind, _ isChild: Bool
    ) throws {
        var toldCount = 0
        for run in 0..<UInt64(campaignCount("ESPALIER_EVENT_WALKS", default: kind == .inMemory ? 10 : 4)) {
            let seed = testSeed(default: 71_000) &+ run
            let walk = try EventConstraintWalk(kind, isChild: isChild, seed: seed)
            for step in 0..<120 {
                do { try walk.takeStep() } catch { Issue.record("seed \(seed), step \(step): \(error)") }
                if let issue = walk.issue {
                    Issue.record("seed \(seed), step \(step): \(issue)")
                    return
                }
            }
            toldCount += walk.toldCount
        }
        #expect(toldCount > 20, "the walks break too few constraints")
    }
}

private final class EventConstraintWalk {
    private struct Key: Hashable, CustomStringConvertible {
        let property: String
        let value: AttributeValue
        var description: String { "\(property) \(value)" }
    }

    private let list: GuestList
    private let root: ManagedObjectContext
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let isChild: Bool
    private var random: SeededGenerator
    private var token: ObservationToken?
    private var told: [UniquenessConflict] = []
    /// The properties that were set of each object since its last save or rollback.
    private var touched: [ManagedObject: Set<String>] = [:]
    /// The values of changed objects after the last event.
    private var former: [ManagedObject: Set<Key>] = [:]
    /// Those of them that the row has too.
    private var formerlyUnclear: [ManagedObject: Set<Key>] = [:]
    private var kept: [ManagedObject] = []
    private(set) var issue: String?
    private(set) var toldCount = 0

    init(_ kind: StoreKind, isChild: Bool, seed: UInt64) throws {
        list = try GuestList(kind, declared: [:])
        (root, other, self.isChild) = (list.context, list.newContext(), isChild)
        context = isChild ? ManagedObjectContext(parent: root) : root
        random = SeededGenerator(seed: seed)
        for context in [root, other, context] { context.automaticallyMergesChangesFromParent = true }
        token = context.addObserver(for: ManagedObjectContext.DidBreakConstraintsMessage.self) { [unowned self] in
            told += $0.conflicts
        }
    }

    private func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private func value(of property: String) -> AttributeValue {
        if below(6) == 0 { return .null }
        return property == "name" ? .string(["ä", "b", "c", "😀", "e"][below(5)]) : .integer(Int64(below(5)))
    }

    private var live: [ManagedObject] { kept.filter { $0.managedObjectContext === context && !$0.isDeleted } }

    func takeStep() throws {
        for _ in 0...below(3) {
            switch below(12) {
            case 0...2: try insert()
            case 3...6:
                guard let guest = live.randomElement(using: &random) else { continue }
                try set(["name", "code", "note"][below(3)], of: guest)
            case 7: if let guest = live.randomElement(using: &random) { try context.delete(guest) }
            default: break
            }
        }
        context.processPendingChanges()
        try compare()
        switch below(10) {
        case 0: rollback()
        case 1, 2: try save()
        case 3, 4: try changeElsewhere()
        case 5:
            let known = Set(kept)
            kept += try context.fetch(FetchRequest<ManagedObject>(entityName: "Guest")).filter { !known.contains($0) }
        case 6: kept = kept.filter { $0.hasChanges }
        default: break
        }
        context.processPendingChanges()
        try compare()
    }

    private func insert() throws {
        let guest = try context.insertNewObject(forEntityName: below(4) == 0 ? "Patron" : "Guest")
        kept.append(guest)
        for property in ["name", "code"] where below(2) == 0 { try set(property, of: guest) }
    }

    private func set(_ property: String, of guest: ManagedObject) throws {
        do {
            try guest.setValue(property == "note" ? .string("\(below(9))") : value(of: property), forKey: property)
        } catch ContextError.violations {
            // Another context has deleted the row.
            return
        }
        touched[guest, default: []].insert(property)
    }

    private func rollback() {
        context.rollback()
        (touched, former, formerlyUnclear) = ([:], [:], [:])
    }

    private func save() throws {
        do {
            try context.save()
            (touched, former, formerlyUnclear) = ([:], [:], [:])
        } catch {
            rollback()
        }
        guard isChild, below(2) == 0 else { return }
        do { try root.save() } catch { root.rollback() }
    }

    /// Changes rows in another context, or the parent's unsaved state.
    private func changeElsewhere() throws {
        let there = isChild && below(2) == 0 ? root : other
        let guests = try there.fetch(FetchRequest<ManagedObject>(entityName: "Guest"))
        if let guest = guests.randomElement(using: &random) {
            if below(4) == 0 { try there.delete(guest) } else { try guest.setValue(value(of: "name"), forKey: "name") }
        }
        if below(2) == 0 { _ = try list.make("Guest", ["code": value(of: "code")], in: there) }
        guard there === other else { return there.processPendingChanges() }
        do { try other.save() } catch { other.rollback() }
    }

    // MARK: The oracle

    private func keys(of guest: ManagedObject) -> Set<Key> {
        Set(
            ["name", "code"].compactMap { property in
                guard guest.isInserted || touched[guest]?.contains(property) == true else { return nil }
                let value = guest[attribute: property]
                return value == .null ? nil : Key(property: property, value: value)
            })
    }

    /// Compares what was told with what the objects and the rows have.
    ///
    /// A property that was set to what its row has, or has by now, may count as changed or not.
    private func compare() throws {
        let present = Dictionary(
            uniqueKeysWithValues: context.insertedObjects.union(context.updatedObjects).map { ($0, keys(of: $0)) })
        let fresh = isChild ? ManagedObjectContext(parent: root) : list.newContext()
        var (rows, own): ([Key: Set<ObjectID>], [ObjectID: Set<Key>]) = ([:], [:])
        for guest in try fresh.fetch(FetchRequest<ManagedObject>(entityName: "Guest")) {
            let here = context.registeredObject(for: guest.objectID)
            for property in ["name", "code"] where guest[attribute: property] != .null {
                let key = Key(property: property, value: guest[attribute: property])
                own[guest.objectID, default: []].insert(key)
                if here?.isDeleted == true { continue }
                if let here, here.isInserted || touched[here]?.contains(property) == true { continue }
                rows[key, default: []].insert(guest.objectID)
            }
        }
        var (must, may): (Set<Key>, Set<Key>) = ([], [])
        var (holders, certain): ([Key: Set<ObjectID>], [Key: Set<ObjectID>]) = ([:], [:])
        var unclear: [ManagedObject: Set<Key>] = [:]
        for (guest, keys) in present {
            for key in keys {
                holders[key, default: []].insert(guest.objectID)
                let isUnclear = !guest.isInserted && own[guest.objectID]?.contains(key) == true
                if isUnclear { unclear[guest, default: []].insert(key) }
                if !isUnclear { certain[key, default: []].insert(guest.objectID) }
                if isUnclear || formerlyUnclear[guest]?.contains(key) == true {
                    may.insert(key)
                } else if former[guest]?.contains(key) != true {
                    must.insert(key)
                }
            }
        }
        (former, formerlyUnclear) = (present, unclear)
        func sharing(_ key: Key) -> Set<ObjectID> { (holders[key] ?? []).union(rows[key] ?? []) }
        var seen = Set<Key>()
        for conflict in told {
            let key = Key(property: conflict.properties[0], value: conflict.values[0])
            let found = Set(conflict.objects + [conflict.stored].compactMap(\.self))
            if !seen.insert(key).inserted { issue = "\(key) is told twice" }
            if !must.contains(key), !may.contains(key) { issue = "\(key) is told and was not taken in this event" }
            if !found.isSubset(of: sharing(key)) || !found.isSuperset(of: certain[key] ?? []) || found.count < 2 {
                issue = "\(key): told \(found), of \(sharing(key)), at least \(certain[key] ?? [])"
            }
        }
        for key in must where sharing(key).count > 1 && !seen.contains(key) {
            issue = "\(key) of \(sharing(key)) is not told"
        }
        (toldCount, told) = (toldCount + told.count, [])
    }
}
