// Beads with relationships of every kind, under the delete rules of their board, and a store of them; on a wide board
// also pearls, which are beads of a subentity, and a second store.
//
// A bead is a number here, and its values are lists of numbers, so that walks can compare states at a low cost.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

/// An object with relationships of every kind, all of them to other beads.
class Bead: ManagedObject {
    /// The action of the bead's next `willSave`, which runs once.
    var onSave: ((Bead) -> Void)?

    override func willSave() {
        guard let act = onSave else { return }
        onSave = nil
        act(self)
    }
}

/// A bead of a subentity, which has an attribute of its own.
final class Pearl: Bead {}

/// A property of a bead.
enum BeadProperty: Int, CaseIterable, Comparable {
    case a, b, best, fans, head, queue, mate, mateOf, tags, tagged, list, listed, friend, friends, hint, marks

    static let relationships = allCases.filter(\.isRelationship)
    private static let names = allCases.map { "\($0)" }

    var name: String { Self.names[rawValue] }
    var isRelationship: Bool { rawValue > 1 }
    var isToOne: Bool {
        switch self {
        case .best, .head, .mate, .mateOf, .friend, .hint: true
        default: false
        }
    }
    /// Whether the property has at most one value, which two contexts may change to different values.
    var isSingle: Bool { !isRelationship || isToOne }
    /// Whether a change of the property makes a new version of the row.
    var isInRow: Bool { !isRelationship || isToOne || isOrdered }
    var isOrdered: Bool { self == .queue || self == .list }
    var inverse: BeadProperty? {
        switch self {
        case .a, .b, .hint, .marks: nil
        case .best: .fans
        case .fans: .best
        case .head: .queue
        case .queue: .head
        case .mate: .mateOf
        case .mateOf: .mate
        case .tags: .tagged
        case .tagged: .tags
        case .list: .listed
        case .listed: .list
        case .friend: .friend
        case .friends: .friends
        }
    }

    static func < (left: BeadProperty, right: BeadProperty) -> Bool { left.rawValue < right.rawValue }
}

/// One property of one bead.
struct BeadCell: Hashable, CustomStringConvertible {
    let bead: Int
    let property: BeadProperty

    init(_ bead: Int, _ property: BeadProperty) { (self.bead, self.property) = (bead, property) }

    var description: String { "\(bead).\(property)" }
}

/// The values of each bead's properties: a number or none for an attribute, otherwise the numbers of the destinations,
/// in their order for an ordered relationship and sorted for any other.
typealias BeadState = [Int: [[Int]]]

extension [[Int]] {
    subscript(_ property: BeadProperty) -> [Int] {
        get { self[property.rawValue] }
        set { self[property.rawValue] = newValue }
    }
}

/// A store of beads.
final class BeadBoard {
    /// The place of the rows.
    enum Place: CaseIterable {
        /// In dictionaries.
        case plain
        /// In trees that are in memory only.
        case memory
        /// In a file of a simulated machine, which the board can reopen.
        case file
    }

    private(set) var coordinator: PersistentStoreCoordinator
    private(set) var store: any PersistentStore
    /// The second store of a wide board, which is not reopened; `nil` if the board is not wide.
    let secondStore: (any PersistentStore)?
    /// The delete rule of each property, by its raw value.
    let rules: [DeleteRule]
    /// The rules that are not `nullify`.
    var rulesText: String {
        let texts = BeadProperty.relationships.filter { rules[$0.rawValue] != .nullify }
            .map { "\($0) \(rules[$0.rawValue])" }
        return texts.joined(separator: ", ")
    }
    private let system: SimulatedFileSystem?
    private var isIndexed = false
    /// The numbers of all beads that the board has seen.
    private(set) var numbers: [ObjectID: Int] = [:]
    private(set) var ids: [Int: ObjectID] = [:]
    private var seen = 0
    private let startCount: Int

    /// Random delete rules; on average five of eight relationships keep `nullify`.
    static func someRules(_ random: inout SeededGenerator) -> [BeadProperty: DeleteRule] {
        var rules: [BeadProperty: DeleteRule] = [:]
        for property in BeadProperty.relationships where Int.random(in: 0..<8, using: &random) < 3 {
            rules[property] = [DeleteRule.cascade, .deny, .noAction].randomElement(using: &random)
        }
        return rules
    }

    /// - Parameters:
    ///   - rules: the delete rules that are not `nullify`.
    ///   - isWide: whether every third bead is a pearl, and every second one in the second store.
    init(
        _ place: Place, count: Int, rules: [BeadProperty: DeleteRule] = [:], isWide: Bool = false, seed: UInt64 = 1
    ) throws {
        let rules = BeadProperty.allCases.map { rules[$0] ?? .nullify }
        self.rules = rules
        startCount = count
        let model = try Self.model(rules, isIndexed: false, isWide: isWide)
        system = place == .file ? SimulatedFileSystem(seed: seed) : nil
        store = try Self.makeStore(place, system, model, "beads")
        secondStore = isWide ? try Self.makeStore(place, system, model, "others") : nil
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        if let secondStore { coordinator.add(secondStore) }
        let maker = ManagedObjectContext(coordinator)
        let beads = (0..<count).map { number -> Bead in
            isWide && number % 3 == 1 ? Pearl(context: maker) : Bead(context: maker)
        }
        if let secondStore {
            try maker.assign(beads.indices.filter { $0 % 2 == 1 }.map { beads[$0] }, to: secondStore)
        }
        try maker.save()
        for bead in beads { number(of: bead.objectID) }
    }

    private static func makeStore(
        _ place: Place, _ system: SimulatedFileSystem?, _ model: ManagedObjectModel, _ name: String
    ) throws -> any PersistentStore {
        switch place {
        case .plain: InMemoryStore(model: model)
        case .memory: try BTreeStore.inMemory(model: model, options: .small)
        case .file: try open(system, model, name)
        }
    }

    private static func model(
        _ rules: [DeleteRule], isIndexed: Bool, needsB: Bool = false, isWide: Bool = false
    ) throws -> ManagedObjectModel {
        let description = EntityDescription(
            "Bead",
            attributes: [
                AttributeDescription("a", .integer64, defaultValue: .integer(0), isIndexed: isIndexed),
                AttributeDescription("b", .integer64, isOptional: !needsB),
                AttributeDescription("name", .string, isOptional: false, defaultValue: .string("bead")),
                AttributeDescription("code", .integer64),
            ],
            relationships: BeadProperty.relationships.map { property in
                .init(
                    property.name, to: "Bead", inverse: property.inverse?.name,
                    property.isToOne ? .toOne : property.isOrdered ? .ordered : .toMany,
                    deleteRule: rules[property.rawValue])
            },
            // Refused under every policy, so that walks can have saves that fail.
            uniquenessConstraints: [["code"]], constraintActions: [["code"]: .refuse])
        guard isWide else {
            return try ManagedObjectModel(
                entities: [description], versionIdentifiers: [], classes: ["Bead": Bead.self])
        }
        let pearl = EntityDescription(
            "Pearl", superentity: "Bead", attributes: [AttributeDescription("shine", .integer64)])
        return try ManagedObjectModel(
            entities: [description, pearl], versionIdentifiers: [],
            classes: ["Bead": Bead.self, "Pearl": Pearl.self])
    }

    private static func open(
        _ system: SimulatedFileSystem?, _ model: ManagedObjectModel, _ name: String = "beads"
    ) throws -> any PersistentStore {
        guard let system else { return InMemoryStore(model: model) }
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(try Database.open(name, in: system, options: options), path: nil, model: model)
    }

    // MARK: Beads

    /// Records the new ID of a bead that keeps its number.
    func rename(_ bead: Bead, _ number: Int) { (numbers[bead.objectID], ids[number]) = (number, bead.objectID) }

    /// The number of a bead; the first call for an ID assigns it.
    @discardableResult
    func number(of id: ObjectID) -> Int {
        if let number = numbers[id] { return number }
        let number = seen < startCount ? seen : 10_000 + seen
        (numbers[id], ids[number]) = (number, id)
        seen += 1
        return number
    }

    /// Makes a new bead; on a wide board it may be a pearl, and one of the second store.
    func newBead(in context: ManagedObjectContext, _ random: inout SeededGenerator) throws -> Bead {
        guard let secondStore else { return Bead(context: context) }
        let bead: Bead = Bool.random(using: &random) ? Pearl(context: context) : Bead(context: context)
        if Bool.random(using: &random) { try context.assign(bead, to: secondStore) }
        return bead
    }

    /// Whether two beads are in one store: only such beads can be related.
    func areTogether(_ bead: Bead, _ other: Bead) -> Bool { isInSecondStore(bead) == isInSecondStore(other) }

    private func isInSecondStore(_ bead: Bead) -> Bool {
        // A new bead that was not assigned is saved in the first store.
        guard let secondStore, let identifier = bead.objectID.storeIdentifier else { return false }
        return identifier == secondStore.identifier
    }

    /// A stored bead, in memory.
    func bead(_ number: Int, in context: ManagedObjectContext) throws -> Bead {
        let id = try #require(ids[number])
        return try #require(try context.existingObject(with: id) as? Bead)
    }

    /// The values that an object shows for a property; -1 for a destination without a number.
    func shown(_ bead: Bead, _ property: BeadProperty) throws -> [Int] {
        guard property.isRelationship else {
            if case .integer(let value) = bead[attribute: property.name] { return [Int(value)] }
            return []
        }
        let found = try bead.objectIDs(forRelationshipNamed: property.name).map { numbers[$0] ?? -1 }
        return property.isOrdered || found.count < 2 ? found : found.sorted()
    }

    /// The state that the store holds.
    func stored() throws -> BeadState {
        guard let entity = store.model.entity(named: "Bead") else { return [:] }
        let ids = try store.fetchIDs(StoreFetch(entity: entity))
        var state: BeadState = [:]
        let names = ids.map(number(of:))
        let rows = try store.snapshots(of: ids)
        for (name, row) in zip(names, rows) {
            var values = Array(repeating: [Int](), count: BeadProperty.allCases.count)
            for property in [BeadProperty.a, .b] {
                if case .integer(let value)? = row?.value(at: property.rawValue) { values[property] = [Int(value)] }
            }
            for property in BeadProperty.relationships where property.isToOne {
                if let id = row?.destination(at: property.rawValue - 2) { values[property] = [numbers[id] ?? -1] }
            }
            state[name] = values
        }
        for property in BeadProperty.relationships where !property.isToOne {
            let lists = try store.destinations(of: entity.relationships[property.rawValue - 2], for: ids)
            for (name, list) in zip(names, lists) where !list.isEmpty {
                let found = list.map { numbers[$0] ?? -1 }
                state[name]?[property] = property.isOrdered ? found : found.sorted()
            }
        }
        return state
    }

    /// The findings of the stores' own checks, dangling references included.
    func findings() throws -> [String] {
        var findings: [String] = []
        for case let store as BTreeStore in [store, secondStore].compactMap(\.self) {
            let report = try store.check()
            findings += (report.findings + report.dangling).map { "\($0)" }
        }
        return findings
    }

    /// The first fault of a state: a destination that is missing, or a relationship whose two sides differ; or `nil`.
    static func fault(in state: BeadState) -> String? {
        for (name, values) in state {
            for property in BeadProperty.relationships {
                for other in values[property] {
                    guard let row = state[other] else {
                        return "\(name).\(property) leads to \(other), which is not there"
                    }
                    if let inverse = property.inverse, row[inverse].count(where: { $0 == name }) != 1 {
                        return "\(name).\(property) has \(other), whose \(inverse) is \(row[inverse])"
                    }
                }
            }
        }
        return nil
    }

    // MARK: Reopening

    var canReopen: Bool { system != nil }

    /// Closes the file and opens it again, under contexts that stay in use.
    func reopen() throws {
        let model = coordinator.managedObjectModel
        try coordinator.remove(store)
        store = try Self.open(system, model)
        coordinator.add(store)
    }

    /// Closes the file and opens it with another index, for new contexts only.
    ///
    /// - Parameter state: the state that is stored.
    /// - Returns: the fault if the store accepts a model that `state` violates, or refuses one that it meets; or `nil`.
    func reopenWithOtherModel(_ state: BeadState) throws -> String? {
        try coordinator.remove(store)
        let isRefused: Bool
        do {
            try Self.open(system, try Self.model(rules, isIndexed: isIndexed, needsB: true)).close()
            isRefused = false
        } catch StoreError.migrationRefused { isRefused = true }
        isIndexed.toggle()
        let model = try Self.model(rules, isIndexed: isIndexed)
        store = try Self.open(system, model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let mustRefuse = state.values.contains { $0[.b].isEmpty }
        return isRefused == mustRefuse ? nil : "a model that requires values was \(isRefused ? "" : "not ")refused"
    }
}

extension Bead {
    /// The unique value.
    var code: Int64? { if case .integer(let code) = self[attribute: "code"] { code } else { nil } }

    /// The values of the attributes that are no `BeadProperty`, each as a list.
    var otherValues: [[Int]] {
        let names = self is Pearl ? ["code", "shine"] : ["code"]
        return names.map { name in
            if case .integer(let value) = self[attribute: name] { [Int(value)] } else { [] }
        }
    }
}
