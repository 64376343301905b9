// Random walks on ordered lists against plain arrays: short lists and long ones, in every kind of ordered relationship,
// with saves between the changes, in one context and in two, also after the store was closed and opened again.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct OrderedWalkTests {
    @Test(arguments: StoreKind.allCases, [0, 1, 2, 100, 5000])
    func `saved orders are what plain arrays say`(_ kind: StoreKind, _ count: Int) throws {
        let seed = testSeed(default: 77_160)
        for round in 0..<campaignCount("ESPALIER_ORDER_WALKS", default: 1) {
            let seed = seed &+ UInt64(1000 * round + count)
            let saveCount = count > 1000 ? 12 : 30
            try withTemporaryFolder { folder in
                func path(_ name: String) -> String? { kind == .btree ? folder.appending(path: name).path : nil }
                var duties = try OrderedWalk<Duty>(path("duties"), seed, count, { Duty(context: $0) }, \.duties)
                try duties.go(saveCount) { duty, owner in duty.member == owner }
                var ranking = try OrderedWalk<Skill>(path("ranking"), seed, count, { Skill(context: $0) }, \.ranking)
                try ranking.go(saveCount) { skill, owner in
                    owner.map { skill.rankers.contains($0) } ?? skill.rankers.isEmpty
                }
                var queue = try OrderedWalk<Skill>(path("queue"), seed, count, { Skill(context: $0) }, \.queue)
                try queue.go(saveCount) { _, _ in true }
            }
        }
    }
}

private struct OrderedWalk<Item: ManagedObject> {
    private let seed: UInt64
    private let make: (ManagedObjectContext) -> Item
    private let list: ReferenceWritableKeyPath<Member, OrderedToMany<Item>>
    /// The file of the store; `nil` for a store in memory.
    private let path: String?
    private var coordinator: PersistentStoreCoordinator
    private var contexts: [ManagedObjectContext]
    private var random: SeededGenerator
    /// The lists of two owners: no item is in both.
    private var lists: [[ObjectID]] = [[], []]
    private var owners: [ObjectID] = []
    /// Items that are in no list.
    private var free: [ObjectID] = []
    private var step = 0

    init(
        _ path: String?, _ seed: UInt64, _ count: Int, _ make: @escaping (ManagedObjectContext) -> Item,
        _ list: ReferenceWritableKeyPath<Member, OrderedToMany<Item>>
    ) throws {
        (self.path, self.seed, self.make, self.list) = (path, seed, make, list)
        random = SeededGenerator(seed: seed)
        coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: teamClasses))
        if path == nil { try coordinator.addPersistentStore(.inMemory) }
        contexts = []
        try open()
        let context = contexts[0]
        let members = (0..<2).map { _ in Member(context: context) }
        let items = (0..<count).map { _ in make(context) }
        members[0][keyPath: list] = OrderedToMany(items)
        try context.save()
        owners = members.map(\.objectID)
        lists[0] = items.map(\.objectID)
    }

    private var place: Comment { "seed \(seed), \(list), step \(step)" }

    private mutating func open() throws {
        if let path {
            for store in coordinator.persistentStores { try store.close() }
            coordinator = PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
            try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
        }
        contexts = (0..<2).map { _ in ManagedObjectContext(coordinator) }
        for context in contexts { context.mergePolicy = .objectTrump }
    }

    /// - Parameter leads: whether an item leads to an owner, or to none.
    mutating func go(_ saveCount: Int, _ leads: (Item, Member?) -> Bool) throws {
        for _ in 0..<saveCount {
            step += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try open()
            case 1, 2: try saveBoth()
            default:
                let context = contexts[Int.random(in: 0..<2, using: &random)]
                if Bool.random(using: &random) { context.refreshAllObjects() } else { context.reset() }
                try change(in: context, mayRemove: true)
                try save(context)
            }
            try check(leads)
        }
    }

    private func save(_ context: ManagedObjectContext) throws {
        do { try context.save() } catch { Issue.record("\(error), \(place)") }
    }

    /// Both contexts change the same order; the second one to save merges.
    private mutating func saveBoth() throws {
        for context in contexts { context.reset() }
        let (former, formerlyFree) = (lists, free)
        var sets: [[Set<ObjectID>]] = []
        for context in contexts {
            (lists, free) = (former, formerlyFree)
            try change(in: context, mayRemove: false)
            sets.append(lists.map(Set.init))
        }
        for context in contexts { try save(context) }
        // If the two orders differ, the store says how they were merged; no member is lost or repeated.
        let reader = ManagedObjectContext(coordinator)
        for number in lists.indices {
            lists[number] = try owner(number, in: reader)[keyPath: list].objectIDs
            #expect(lists[number].count == Set(lists[number]).count, "\(place)")
            #expect(Set(lists[number]) == sets[0][number].union(sets[1][number]), "\(place)")
        }
        free = formerlyFree
    }

    // MARK: Changes

    private func owner(_ number: Int, in context: ManagedObjectContext) throws -> Member {
        try #require(try context.existingObject(with: owners[number]) as? Member)
    }

    private func item(_ id: ObjectID, in context: ManagedObjectContext) throws -> Item {
        try #require(try context.existingObject(with: id) as? Item)
    }

    /// Makes 1 to 4 changes of one list or both.
    private mutating func change(in context: ManagedObjectContext, mayRemove: Bool) throws {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let number = Int.random(in: 0..<4, using: &random) == 0 ? 1 : 0
            let members = try owner(number, in: context)[keyPath: list]
            let count = lists[number].count
            let (index, other) = (
                Int.random(in: 0...count, using: &random), Int.random(in: 0..<max(1, count), using: &random)
            )
            switch Int.random(in: 0..<(mayRemove ? 12 : 6), using: &random) {
            case 0, 1:
                try insert(try newID(in: context), at: count, of: number, context)
            case 2, 3:
                try insert(try newID(in: context), at: index, of: number, context)
            case 4 where index < count, 5 where index < count:
                members.move(from: index, to: other)
                lists[number].insert(lists[number].remove(at: index), at: other)
            case 6 where index < count, 7 where index < count:
                members.remove(at: index)
                free.append(lists[number].remove(at: index))
            case 8 where index < count:
                try context.delete(try item(lists[number][index], in: context))
                context.processPendingChanges()
                // Without an inverse no rule removes a deleted object from a list before the save.
                if members.count == count { members.remove(at: index) }
                lists[number].remove(at: index)
            case 9 where index < count:
                let item = try item(lists[number][index], in: context)
                let leaves = members.remove(item) != nil
                #expect(leaves, "\(place)")
                free.append(lists[number].remove(at: index))
            case 10 where !free.isEmpty:
                let id = free.remove(at: Int.random(in: 0..<free.count, using: &random))
                try insert(id, at: index, of: number, context)
            case 11 where count < 200 || Int.random(in: 0..<8, using: &random) == 0:
                lists[number].shuffle(using: &random)
                free += lists[number].suffix(count / 3)
                lists[number].removeLast(count / 3)
                try owner(number, in: context)[keyPath: list] = OrderedToMany(
                    try lists[number].map { try item($0, in: context) })
            default: break
            }
            let now = try owner(number, in: context)[keyPath: list].objectIDs
            #expect(now == lists[number], "\(place)")
        }
    }

    /// The ID of a new item, which another context does not know before the next save.
    private func newID(in context: ManagedObjectContext) throws -> ObjectID {
        let item = make(context)
        try context.obtainPermanentIDs(for: [item])
        return item.objectID
    }

    private mutating func insert(
        _ id: ObjectID, at index: Int, of number: Int, _ context: ManagedObjectContext
    ) throws {
        try owner(number, in: context)[keyPath: list].insert(try item(id, in: context), at: index)
        lists[number].insert(id, at: index)
    }

    // MARK: Checks

    private func check(_ leads: (Item, Member?) -> Bool) throws {
        let reader = ManagedObjectContext(coordinator)
        for number in lists.indices {
            let owner = try owner(number, in: reader)
            let stored = owner[keyPath: list].objectIDs
            #expect(stored == lists[number], "\(place)")
            for id in lists[number].prefix(40) + lists[number].suffix(40) {
                #expect(leads(try item(id, in: reader), owner), "\(place)")
            }
        }
        for id in free.suffix(20) { #expect(leads(try item(id, in: reader), nil), "\(place)") }
        guard step % (lists[0].count > 1000 ? 4 : 1) == 0,
            let store = coordinator.persistentStores.first as? BTreeStore
        else { return }
        let report = try store.check()
        #expect(report.isOK && report.dangling.isEmpty, "\(report), \(place)")
    }
}
