// Random changes in a tree of contexts: each context shows its parent's state below its own changes, a save makes the
// parent show what the child has shown, and the store has only what the root has saved. In half of the walks each
// context has an undo manager: undo and redo restore what it has shown, unless others have changed that meanwhile. Some
// walks have beads of a subentity, and two stores.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct ChildWalkTests {
    private static let stepCount = campaignCount("ESPALIER_CHILD_STEPS", default: 60)
    private static let walkCount = campaignCount("ESPALIER_CHILD_WALKS", default: 5)
    private static let wideWalkCount = campaignCount("ESPALIER_CHILD_WALKS", default: 2)

    @Test(arguments: BeadBoard.Place.allCases)
    func `a tree of contexts that saves upward at random leaves the store as plain values say`(
        _ place: BeadBoard.Place
    ) throws {
        try ChildWalk.take(Self.walkCount, seed: testSeed(default: 43_000), steps: Self.stepCount) {
            try ChildWalk(place, seed: $0)
        }
    }

    @Test(arguments: BeadBoard.Place.allCases)
    func `a tree of contexts with objects of a subentity leaves two stores as plain values say (MC-09, MC-43)`(
        _ place: BeadBoard.Place
    ) throws {
        try ChildWalk.take(Self.wideWalkCount, seed: testSeed(default: 73_000), steps: Self.stepCount) {
            try ChildWalk(place, seed: $0, isWide: true)
        }
    }
}

/// A root, two children and a grandchild, and the states that they must show.
private struct ChildWalk: RandomWalk {
    private enum Place: Int, CaseIterable {
        case root, left, right, grandchild

        var parent: Place { self == .grandchild ? .left : .root }
    }

    private let board: BeadBoard
    private var random: SeededGenerator
    private var contexts: [ManagedObjectContext] = []
    /// The beads that live in the memory of a context, so that objects keep their values between steps.
    private var kept: [[Bead]] = [[], [], [], []]
    /// The changes that each context with an undo manager can undo and redo.
    private var histories: [ShownHistory?] = [nil, nil, nil, nil]
    private let hasUndo: Bool
    /// The context that acts in the present step.
    private var acting = Place.root
    /// The plain values that the store must hold.
    private var stored: BeadState = [:]
    private var nextCode = 0
    private(set) var failure: String?
    private(set) var log: [String] = []
    var rulesText: String { board.rulesText }

    init(_ place: BeadBoard.Place, seed: UInt64, isWide: Bool = false) throws {
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1..<7, using: &random)
        let hasRules = Bool.random(using: &random)
        var rules = hasRules ? BeadBoard.someRules(&random) : [:]
        // A save that one of two stores refuses is a partial one (SeveralStoresSaveTests).
        if isWide { rules = rules.filter { $0.value == .cascade } }
        board = try BeadBoard(place, count: count, rules: rules, isWide: isWide, seed: seed)
        hasUndo = seed % 2 == 1
        let root = ManagedObjectContext(board.coordinator)
        root.mergePolicy = .objectTrump
        contexts = [root]
        for bead in try root.fetch(FetchRequest<Bead>()) {
            try bead.setValue(.integer(Int64(nextCode)), forKey: "code")
            nextCode += 1
        }
        try root.save()
        contexts += [root, root, root].map(ManagedObjectContext.init(parent:))
        for place in Place.allCases.dropFirst() { renew(place) }
        stored = try state(of: ManagedObjectContext(board.coordinator))
    }

    private subscript(_ place: Place) -> ManagedObjectContext { contexts[place.rawValue] }

    private mutating func renew(_ place: Place) {
        kept[place.rawValue] = []
        let child = ManagedObjectContext(parent: self[place.parent])
        child.name = "\(place)"
        child.automaticallyMergesChangesFromParent = Int.random(in: 0..<4, using: &random) > 0
        if !child.automaticallyMergesChangesFromParent { log.append("\(place) does not merge") }
        contexts[place.rawValue] = child
        histories[place.rawValue] = nil
        if place == .left { renew(.grandchild) }
    }

    // MARK: States

    private func code(of object: ManagedObject) -> Int? {
        if !object.isDeleted, case .integer(let code) = object[attribute: "code"] { Int(code) } else { nil }
    }

    /// The state that a context shows, by the codes of its beads.
    private func state(of context: ManagedObjectContext) throws -> BeadState {
        var state: BeadState = [:]
        for bead in try context.fetch(FetchRequest<Bead>()) {
            guard let code = code(of: bead) else { continue }
            state[code] = try BeadProperty.allCases.map { property in
                switch try bead.value(forKey: property.name) {
                case .attribute(.integer(let value)): return [Int(value)]
                case .attribute: return []
                case .toOne(let object): return object.flatMap { self.code(of: $0) }.map { [$0] } ?? []
                case .toMany(let objects):
                    let found = objects.compactMap { self.code(of: $0) }
                    return property.isOrdered ? found : found.sorted()
                }
            }
            if board.secondStore != nil { state[code]? += bead.otherValues }
        }
        return state
    }

    private mutating func expect(_ found: BeadState, _ expected: BeadState, _ call: String) {
        if found == expected || failure != nil { return }
        for number in Set(found.keys).union(expected.keys).sorted() where found[number] != expected[number] {
            guard let row = found[number], let wanted = expected[number] else {
                failure = "\(call): \(number) is \(found[number] == nil ? "missing" : "there")"
                return
            }
            let properties = BeadProperty.allCases.filter { row[$0] != wanted[$0] }
            let texts = properties.map { "\($0) \(row[$0]), not \(wanted[$0])" }
            failure = "\(call): \(number) shows \(texts.joined(separator: "; "))"
            return
        }
    }

    // MARK: Steps

    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil { try step() }
            for place in [Place.grandchild, .left, .right, .root] where failure == nil { try save(place) }
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func step() throws {
        guard let place = Place.allCases.randomElement(using: &random) else { return }
        acting = place
        switch Int.random(in: 0..<(hasUndo ? 20 : 16), using: &random) {
        case 0, 1, 2: try save(place)
        case 3 where place != .root: try discard(place)
        case 4: try ask(place)
        case 16, 17, 18: try goBack(place, isRedo: false)
        case 19: try goBack(place, isRedo: true)
        default: try change(place)
        }
        for place in Place.allCases where failure == nil { try check(place) }
    }

    /// Undoes or redoes the last event of a context; what it shows is as it was on the other side of that event, unless
    /// others have changed something since.
    ///
    /// A child that does not merge may show at any fetch what its parent has changed meanwhile (MC-20): that is not
    /// compared.
    private mutating func goBack(_ place: Place, isRedo: Bool) throws {
        guard let manager = self[place].undoManager, isRedo ? manager.canRedo : manager.canUndo else { return }
        let before = try state(of: self[place])
        let isMerging = place == .root || self[place].automaticallyMergesChangesFromParent
        let expected = isMerging ? histories[place.rawValue]?.expected(before, isRedo: isRedo) : nil
        log.append("\(place): \(isRedo ? "redo" : "undo")\(expected == nil ? ", on what others have changed" : "")")
        if isRedo { try self[place].redo() } else { try self[place].undo() }
        let shown = try state(of: self[place])
        if let expected { expect(ShownHistory.comparable(shown), expected, isRedo ? "redo" : "undo") }
        histories[place.rawValue]?.noteReturn(shown, isRedo: isRedo)
    }

    private mutating func change(_ place: Place) throws {
        let context = self[place]
        let beads = try context.fetch(FetchRequest<Bead>()).filter { code(of: $0) != nil }
        kept[place.rawValue] = Array((beads + kept[place.rawValue]).prefix(20))
        let kind = Int.random(in: 0..<10, using: &random)
        guard kind > 1, let bead = beads.randomElement(using: &random) else {
            log.append("\(place): insert \(nextCode)")
            let bead = try board.newBead(in: context, &random)
            try bead.setValue(.integer(Int64(nextCode)), forKey: "code")
            kept[place.rawValue].append(bead)
            nextCode += 1
            return
        }
        if kind == 2 {
            log.append("\(place): delete \(code(of: bead) ?? -1)")
            return try context.delete(bead)
        }
        if bead is Pearl, Int.random(in: 0..<4, using: &random) == 0 {
            log.append("\(place): \(code(of: bead) ?? -1) shines")
            return try bead.setValue(.integer(Int64.random(in: 0..<4, using: &random)), forKey: "shine")
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return }
        let near = beads.filter { board.areTogether($0, bead) }
        let change = try BeadChange(of: bead, property, among: near, &random)
        log.append("\(place): \(code(of: bead) ?? -1).\(change.text { code(of: $0) ?? -1 })")
        try change.make()
    }

    /// Discards the changes of a child, in one of three ways; it then shows what its parent shows.
    private mutating func discard(_ place: Place) throws {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            log.append("\(place): rollback")
            self[place].rollback()
            self[place].refreshAllObjects()
        case 1:
            log.append("\(place): reset")
            kept[place.rawValue] = []
            self[place].reset()
        default:
            log.append("\(place): dropped")
            renew(place)
        }
        try expectAbove(place, state(of: self[place]), "above \(place), whose changes are discarded,")
    }

    /// Compares fetches, counts and an order with the state.
    private mutating func ask(_ place: Place) throws {
        log.append("\(place): fetch")
        // Objects in memory keep their values until they are refreshed, and a count reads the newest rows (MC-20).
        if !self[place].automaticallyMergesChangesFromParent { self[place].refreshAllObjects() }
        let (context, state) = (self[place], try state(of: self[place]))
        let value = Int.random(in: 0..<4, using: &random)
        let equal = FetchRequest<Bead>(try FetchPredicate(format: "a == \(value)"))
        let expected = state.filter { $0.value[.a] == [value] }.keys
        let count = try context.count(for: equal)
        if count != expected.count { failure = "\(place) counts \(count) with a == \(value), not \(expected.sorted())" }
        let best = FetchRequest<Bead>(try FetchPredicate(format: "best.a == \(value)"), sortedBy: [SortKey("code")])
        let led = state.filter { $0.value[.best].first.flatMap { state[$0] }?[.a] == [value] }.keys.sorted()
        let found = try context.fetch(best).compactMap { code(of: $0) }
        if found != led { failure = "\(place) finds \(found) with best.a == \(value), not \(led)" }
        var sorted = FetchRequest<Bead>(sortedBy: [SortKey("a"), SortKey("code", ascending: false)])
        (sorted.fetchOffset, sorted.fetchLimit) = (1, 3)
        let order = state.keys.sorted { left, right in
            let (a, b) = (state[left]?[.a].first ?? -1, state[right]?[.a].first ?? -1)
            return a == b ? left > right : a < b
        }
        let codes = try context.fetch(sorted).compactMap { code(of: $0) }
        if codes != Array(order.dropFirst().prefix(3)) { failure = "\(place) sorts \(codes), not \(order)" }
    }

    /// Saves one level up.
    ///
    /// If nobody else has changed the same objects, the level above shows what the context showed.
    private mutating func save(_ place: Place) throws {
        let context = self[place]
        context.processPendingChanges()
        if !context.automaticallyMergesChangesFromParent { context.refreshAllObjects() }
        let (before, above) = (try state(of: context), try stateAbove(place))
        let reverted = revertedCodes(context)
        let expected = before.filter { above[$0.key] != nil || !reverted.contains($0.key) }
        log.append("\(place): save")
        context.mergePolicy = .error
        do {
            try context.save()
            if place == .root { stored = expected }
            try expectAbove(place, expected, "above \(place) after its save")
        } catch ContextError.conflicts, ContextError.references {
            log.append("in conflict")
            expect(try state(of: context), before, "\(place) after a conflict")
            try expectAbove(place, above, "above \(place) after a conflict")
            context.mergePolicy = .objectTrump
            do {
                try context.save()
                let now = try state(of: context)
                if place == .root { stored = now }
                try expectAbove(place, now, "above \(place) after its save over others")
            } catch ContextError.violations, ContextError.several, ContextError.references, ContextError.conflicts {
                try giveUp(place, above)
            }
        } catch ContextError.violations, ContextError.several {
            expect(try state(of: context), before, "\(place) after a refused save")
            try giveUp(place, above)
        }
        if failure == nil, context.hasChanges { failure = "\(place) has changes after its save" }
        expect(try state(of: ManagedObjectContext(board.coordinator)), stored, "the store after a save of \(place)")
        if let finding = try board.findings().first { failure = "after a save of \(place): \(finding)" }
    }

    /// The beads that are changed and have their committed values again: if their rows are gone, a save of the context
    /// saves nothing of them.
    private func revertedCodes(_ context: ManagedObjectContext) -> Set<Int> {
        Set(context.updatedObjects.filter { !$0.hasPersistentChangedValues }.compactMap { code(of: $0) })
    }

    private mutating func expectAbove(_ place: Place, _ expected: BeadState, _ call: String) throws {
        let above = try stateAbove(place)
        if place == .grandchild, try !isWhole(above) { return }
        expect(above, expected, call)
    }

    private mutating func giveUp(_ place: Place, _ above: BeadState) throws {
        log.append("refused")
        try expectAbove(place, above, "above \(place) after a refused save")
        self[place].rollback()
        self[place].refreshAllObjects()
    }

    /// The state of the parent, or that of the store.
    private func stateAbove(_ place: Place) throws -> BeadState {
        try state(of: place == .root ? ManagedObjectContext(board.coordinator) : self[place.parent])
    }

    /// Whether the root or the left child itself has all objects of a state of the left child.
    ///
    /// A context keeps the values of objects that it has changed and its parent has deleted, and does not show them to
    /// its children.
    private func isWhole(_ state: BeadState) throws -> Bool {
        let own = Set(self[.left].insertedObjects.compactMap { code(of: $0) })
        return try own.union(self.state(of: self[.root]).keys).isSuperset(of: state.keys)
    }

    private mutating func check(_ place: Place) throws {
        let context = self[place]
        context.processPendingChanges()
        let shown = try state(of: context)
        if let manager = context.undoManager {
            // Delete rules that run again on a newer row, in a context that only merges, may reach other objects:
            // nobody has seen the sides of that event.
            let isOwn = place == acting || place == acting.parent
            histories[place.rawValue]?.note(shown, manager, isSeen: isOwn)
        } else if hasUndo {
            context.undoManager = UndoStack()
            histories[place.rawValue] = ShownHistory(shown)
        }
        // A changed object whose row is deleted keeps its values, and the others do not lead to it.
        guard place == .root || !context.hasChanges && context.automaticallyMergesChangesFromParent else { return }
        if let fault = BeadBoard.fault(in: shown) { failure = "\(place): \(fault)" }
        guard place != .root else { return }
        let above = try state(of: self[place.parent])
        if place == .grandchild, try !isWhole(above) { return }
        expect(shown, above, "\(place), which has no changes")
    }
}
