// Random events in a context with an undo manager, while another context changes and saves the same beads, under random
// merge policies and with refreshes: undoing restores the former values of attributes, whatever was merged since or
// decided by a policy, and the relationships of beads that only this context has changed; both ends of every
// relationship agree.

import Espalier
import EspalierModel
import Synchronization
import TestSupport
import Testing

@Suite struct UndoMergeWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 80)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 4)

    @Test(arguments: BeadBoard.Place.allCases)
    func `undoing after merges gives attributes their former values and leaves both ends equal`(
        _ place: BeadBoard.Place
    ) throws {
        let counts = UndoMergeCounts()
        try UndoMergeWalk.take(Self.walkCount, seed: testSeed(default: 18_500), steps: Self.stepCount) {
            try UndoMergeWalk(place, seed: $0, counts)
        }
        // Walks that meet nothing of one kind show nothing about it.
        guard Self.stepCount >= 80 else { return }
        #expect(counts.undos >= 5 * Self.walkCount, "\(counts.undos) undos")
        #expect(counts.merges >= Self.walkCount, "\(counts.merges) merges")
        #expect(counts.comparisons >= 10 * Self.walkCount, "\(counts.comparisons) comparisons of relationships")
        let conflictCount = counts.refusals + counts.questions.value.load(ordering: .relaxed)
        #expect(conflictCount >= 1, "\(conflictCount) conflicts")
    }
}

/// The occasions that all walks together have met.
private final class UndoMergeCounts {
    /// Undos and redos.
    var undos = 0
    /// Merges that have changed relationships in the context with the undo manager.
    var merges = 0
    /// Beads whose relationships were compared after an undo or a redo.
    var comparisons = 0
    /// Saves that were refused because of a conflict.
    var refusals = 0
    /// Conflicts about which a policy was asked.
    let questions = Questions()

    final class Questions: Sendable {
        let value = Atomic(0)
    }
}

/// A context with an undo manager, and another one that saves.
private struct UndoMergeWalk: RandomWalk {
    /// The state that the context shows.
    private struct Shown {
        /// The attributes of the beads that exist.
        var values: [ObjectIdentifier: [Int]] = [:]
        /// Their destinations across relationships with an inverse, by number.
        var relations: BeadState = [:]
        /// Those with changes here whose rows another context has deleted: until a save decides about them, they keep
        /// their values, and other beads do not lead back to them.
        var gone: Set<Int> = []

        /// The first relationship whose two ends differ; `nil` if there is none.
        var fault: String? {
            let found = relations.filter { !gone.contains($0.key) }.mapValues { lists in
                lists.map { $0.filter { !gone.contains($0) } }
            }
            return BeadBoard.fault(in: found)
        }
    }

    /// An event, or the undo or redo of one.
    private struct Event {
        let before: Shown
        let after: Shown
        /// The time at which it was made.
        let time: Int

        /// The same event, seen from its other side.
        var reversed: Event { Event(before: after, after: before, time: time) }
    }

    /// The properties that both contexts change at once: single values, about which a policy decides alone.
    private static let contested: [BeadProperty] = [.a, .b, .best, .head, .hint]
    private static let relationshipNames = BeadProperty.relationships.map(\.name)

    private let board: BeadBoard
    private let counts: UndoMergeCounts
    var rulesText: String { board.rulesText }
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let undoManager = UndoStack()
    private var random: SeededGenerator
    /// All beads that the walk has seen, deleted ones included.
    private var beads: [Bead] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var past: [Event] = []
    private var future: [Event] = []
    private var present = Shown()
    /// The number of steps so far.
    private var time = 0
    /// The last time at which something else than an event, an undo or a redo has changed the relationships of a bead:
    /// the other context, a merge, a refresh or a policy; or at which one of their destinations was such a bead.
    private var touched: [Int: Int] = [:]
    private(set) var failure: String?
    private(set) var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64, _ counts: UndoMergeCounts) throws {
        self.counts = counts
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 3..<7, using: &random)
        board = try BeadBoard(place, count: count, rules: BeadBoard.someRules(&random), seed: seed)
        context = ManagedObjectContext(board.coordinator)
        other = ManagedObjectContext(board.coordinator)
        for context in [context, other] { context.automaticallyMergesChangesFromParent = true }
        other.mergePolicy = .objectTrump
        context.undoManager = undoManager
    }

    mutating func go(_ count: Int) {
        do {
            try look(isOwn: true)
            present = try shown()
            for _ in 0..<count where failure == nil { try step() }
            while failure == nil, !past.isEmpty { try undo() }
            if failure == nil { try save() }
            while failure == nil, !future.isEmpty { try redo() }
            if failure == nil { try save() }
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<15, using: &random) {
        case 0, 1, 2: try undo()
        case 3, 4: try redo()
        case 5: try save()
        case 6, 7: try saveElsewhere()
        case 8: try refresh()
        case 9, 10: try contest()
        default: try event()
        }
    }

    // MARK: The state

    /// Numbers the beads that are new.
    ///
    /// - Parameter isOwn: whether only this context can have made them.
    private mutating func look(isOwn: Bool) throws {
        for bead in try context.fetch(FetchRequest<Bead>()) where numbers[ObjectIdentifier(bead)] == nil {
            numbers[ObjectIdentifier(bead)] = beads.count
            if !isOwn { touched[beads.count] = time }
            beads.append(bead)
        }
    }

    private static func isThere(_ bead: ManagedObject) -> Bool {
        // The context learns that a row is deleted when a fault fires.
        if bead.managedObjectContext != nil, !bead.isDeleted { _ = bead[attribute: "a"] }
        return bead.managedObjectContext != nil && !bead.isDeleted
    }

    private var there: [Bead] { beads.filter(Self.isThere) }

    private func shown() throws -> Shown {
        var shown = Shown()
        let names = numbers
        for bead in there {
            let key = ObjectIdentifier(bead)
            shown.values[key] = [BeadProperty.a, .b].map { property in
                if case .integer(let value) = bead[attribute: property.name] { return Int(value) }
                return -1
            }
            guard let number = names[key] else { continue }
            shown.relations[number] = try Self.lists(of: bead) { names[ObjectIdentifier($0)] ?? -1 }
        }
        let stored = try board.stored()
        for (number, bead) in beads.enumerated() where shown.relations[number] != nil {
            if !bead.isInserted, stored[board.number(of: bead.objectID)] == nil { shown.gone.insert(number) }
        }
        return shown
    }

    /// The destinations of a bead across each relationship with an inverse, sorted if the relationship is not ordered.
    private static func lists(of bead: Bead, _ number: (ManagedObject) -> Int) throws -> [[Int]] {
        var lists: [[Int]] = []
        for property in BeadProperty.allCases {
            var found: [Int] = []
            if property.isRelationship, property.inverse != nil {
                switch try bead.value(forKey: property.name) {
                case .attribute: break
                case .toOne(let object): found = [object].compactMap(\.self).filter(isThere).map(number)
                case .toMany(let objects): found = objects.filter(isThere).map(number)
                }
            }
            lists.append(property.isOrdered ? found : found.sorted())
        }
        return lists
    }

    // MARK: Changes by others

    /// Merges waiting saves, and notes the beads that this changes; returns the new state.
    private mutating func merge() throws -> Shown {
        context.processPendingChanges()
        if try noteEffects() { counts.merges += 1 }
        if undoManager.undoCount != past.count || undoManager.redoCount != future.count {
            failure = "a merge leaves \(undoManager.undoCount) actions to undo and \(undoManager.redoCount) to redo"
        }
        if let fault = present.fault { failure = "after a merge: \(fault)" }
        return present
    }

    /// Notes the beads whose relationships differ from `present`, which becomes the new state; returns whether there
    /// are any.
    @discardableResult
    private mutating func noteEffects() throws -> Bool {
        try look(isOwn: false)
        let (former, now) = (present, try shown())
        present = now
        let changed = Set(former.relations.keys).union(now.relations.keys).filter {
            former.relations[$0] != now.relations[$0]
        }
        for number in changed { touched[number] = time }
        return !changed.isEmpty
    }

    private func isTouched(_ number: Int, since time: Int) -> Bool { number < 0 || touched[number] ?? -1 > time }

    /// The relationships of the other context's beads, by ID.
    private func stateElsewhere() throws -> [ObjectID: [[Int]]] {
        var state: [ObjectID: [[Int]]] = [:]
        for bead in try other.fetch(FetchRequest<Bead>()) where Self.isThere(bead) {
            state[bead.objectID] = try Self.lists(of: bead) { board.number(of: $0.objectID) }
        }
        return state
    }

    /// - Parameter property: the property of a bead to change; `nil` for changes at random.
    private mutating func saveElsewhere(_ property: (id: ObjectID, property: BeadProperty)? = nil) throws {
        time += 1
        log.append("elsewhere:")
        let there = try other.fetch(FetchRequest<Bead>()).filter(Self.isThere)
        let before = try stateElsewhere()
        if let property, let bead = there.first(where: { $0.objectID == property.id }) {
            try change(property.property, of: bead, among: there)
        } else {
            for _ in 0..<Int.random(in: 1..<4, using: &random) { try change(in: other, among: there) }
        }
        do { try other.save() } catch {
            log.append("refused")
            other.rollback()
        }
        log.append("saved elsewhere")
        let after = try stateElsewhere()
        for id in Set(before.keys).union(after.keys) where before[id] != after[id] {
            guard let object = context.registeredObject(for: id), let number = numbers[ObjectIdentifier(object)]
            else { continue }
            touched[number] = time
        }
    }

    // MARK: Steps

    /// - Parameter property: the property of a bead to change; `nil` for changes at random.
    private mutating func event(_ property: (bead: Bead, property: BeadProperty)? = nil) throws {
        time += 1
        // Pending saves are merged first, so that the event contains only its own changes.
        let (before, count) = (try merge(), undoManager.undoCount)
        if let property, Self.isThere(property.bead) {
            try change(property.property, of: property.bead, among: there)
        } else {
            for _ in 0..<Int.random(in: 1..<4, using: &random) { try change(in: context, among: there) }
        }
        context.processPendingChanges()
        try look(isOwn: true)
        present = try shown()
        if undoManager.undoCount > count {
            past.append(Event(before: before, after: present, time: time))
            future = []
        }
    }

    private mutating func change(in context: ManagedObjectContext, among there: [Bead]) throws {
        let kind = Int.random(in: 0..<10, using: &random)
        let usable = there.filter { !$0.isDeleted && $0.managedObjectContext != nil }
        guard kind > 0, let bead = usable.randomElement(using: &random) else {
            log.append("insert")
            _ = Bead(context: context)
            return
        }
        if kind == 1 {
            log.append("delete \(name(bead))")
            return try context.delete(bead)
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return }
        try change(property, of: bead, among: usable)
    }

    private mutating func change(_ property: BeadProperty, of bead: Bead, among usable: [Bead]) throws {
        let change = try BeadChange(of: bead, property, among: usable, &random)
        log.append("\(name(bead)).\(change.text { number($0) })")
        try change.make()
    }

    /// Changes a property of a bead here and elsewhere, and saves there and then here: the merge policy decides.
    private mutating func contest() throws {
        guard let bead = there.filter({ !$0.objectID.isTemporary }).randomElement(using: &random),
            let property = Self.contested.randomElement(using: &random)
        else { return }
        try event((bead, property))
        try saveElsewhere((bead.objectID, property))
        try save()
    }

    /// The number of a bead of either context; -1 for a new one.
    private func number(_ bead: Bead) -> Int {
        let object = bead.managedObjectContext === other ? context.registeredObject(for: bead.objectID) : bead
        return object.flatMap { numbers[ObjectIdentifier($0)] } ?? -1
    }

    private func name(_ bead: Bead) -> String { number(bead) < 0 ? "a new one" : "\(number(bead))" }

    private mutating func save() throws {
        time += 1
        // The effects of a policy, where both contexts have changed a property, count as those of the other context.
        let rule = MergePolicy.Rule.allCases.randomElement(using: &random) ?? .error
        let (isAsked, questions) = (Bool.random(using: &random), counts.questions)
        context.mergePolicy =
            isAsked
            ? MergePolicy { _, _ in
                questions.value.add(1, ordering: .relaxed)
                return MergeResolution(rule)
            } : MergePolicy(rule)
        log.append("save \(MergePolicy(rule))" + (isAsked ? ", asked" : ""))
        _ = try merge()
        do {
            try context.save()
            context.compareWithFreshContext()
            if let finding = try board.findings().first { failure = "after a save: \(finding)" }
        } catch let error as ContextError {
            log.append("refused")
            if case .conflicts = error { counts.refusals += 1 }
        }
        try noteEffects()
    }

    /// Refreshes a bead; its own changes are discarded only if they are of attributes, because otherwise one end of a
    /// relationship would be refreshed alone.
    private mutating func refresh() throws {
        time += 1
        _ = try merge()
        guard let bead = there.randomElement(using: &random) else { return }
        let keepsChanges =
            try Bool.random(using: &random) || !bead.changedValues(forKeys: Self.relationshipNames).isEmpty
        log.append("refresh \(name(bead))" + (keepsChanges ? "" : " and discard its changes"))
        context.refresh(bead, mergesChanges: keepsChanges)
        try noteEffects()
    }

    private mutating func undo() throws {
        time += 1
        // A merge may be an action of its own: the one to be undone.
        let former = try merge()
        guard let event = past.popLast() else { return }
        log.append("undo")
        let context = context
        let undone = try turn(to: event.before, from: event.after, event.time, former) { try context.undo() }
        future.append(undone)
    }

    private mutating func redo() throws {
        time += 1
        let former = try merge()
        guard let event = future.popLast() else { return }
        log.append("redo")
        let context = context
        // A redo restores the state before the undo, which may contain merged values.
        let redone = try turn(to: event.after, from: event.before, event.time, former) { try context.redo() }
        past.append(redone.reversed)
    }

    /// Runs `body`, and expects what the event has changed to be as wanted; returns the event of `body` as an undo.
    private mutating func turn(
        to wanted: Shown, from other: Shown, _ since: Int, _ former: Shown, _ body: () throws -> Void
    ) throws -> Event {
        try body()
        counts.undos += 1
        try look(isOwn: true)
        present = try shown()
        compareValues(with: wanted, from: other, after: former)
        if let fault = present.fault { failure = fault }
        compareRelations(with: wanted, since)
        return Event(before: present, after: former, time: time)
    }

    private mutating func compareValues(with wanted: Shown, from other: Shown, after former: Shown) {
        for (bead, values) in wanted.values {
            // An object that appears or disappears has no former value to compare.
            guard let found = present.values[bead], let other = other.values[bead] else { continue }
            for (index, value) in values.enumerated() {
                // A value that the event left as it was may be set again, or keep the merged value; a bead that
                // delete rules have reached by way of somebody else's change may come back with one.
                let expected = value == other[index] ? former.values[bead].map { [value, $0[index]] } : [value]
                if let expected, !expected.contains(found[index]) {
                    failure = "\(numbers[bead] ?? -1) has \(found[index]) at \(index), not \(expected)"
                }
            }
        }
    }

    private mutating func compareRelations(with wanted: Shown, _ since: Int) {
        // A delete rule may have reached a bead by way of another one that somebody else has related.
        for number in wanted.relations.keys where present.relations[number] == nil { touched[number] = time }
        for (number, lists) in wanted.relations where !isTouched(number, since: since) {
            guard let found = present.relations[number] else { continue }
            let isGone = ([number] + (lists + found).joined()).contains {
                wanted.gone.contains($0) || present.gone.contains($0)
            }
            if isGone || (lists + found).joined().contains(where: { isTouched($0, since: since) }) {
                touched[number] = time
                continue
            }
            counts.comparisons += 1
            for property in BeadProperty.relationships where found[property] != lists[property] {
                failure = "\(number).\(property) is \(found[property]), not \(lists[property])"
            }
        }
    }
}
