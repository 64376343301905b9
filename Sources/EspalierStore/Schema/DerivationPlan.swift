// The sources of derived attributes: the changes that a save has to note, and the values that follow from a row alone.
//
// Invariants
//   1. Without derived attributes the plan is empty, and a save notes nothing.
//   2. A change of a value that other rows derive from is never written over the bytes of its row unnoticed
//      (`isWatched`).

internal import EspalierModel
internal import FoundationEssentials

/// The derived attributes of a model.
package final class DerivationPlan: Sendable {
    /// A derived attribute, and the entity that declares it.
    struct Member: Sendable {
        let derivation: ResolvedDerivation
        let entity: Entity
        var slot: Int { derivation.attribute.slot }
    }

    /// All derived attributes, each after those from which it is derived.
    let members: [Member]
    /// For each entity: the derived attributes of its rows, in the same order.
    let byEntity: [[Member]]
    /// For each entity: whether changes of its rows are noted.
    let isNoted: [Bool]
    /// For each entity, by slot: whether other rows derive values from the attribute.
    private let watchedAttributes: [[Bool]]
    private let watchedLists: Set<RelationshipID>
    /// For each entity, by slot: whether the value is computed after all rows are written.
    private let lateAttributes: [[Bool]]
    private let model: ManagedObjectModel

    init(_ model: ManagedObjectModel) {
        self.model = model
        let members = model.derivations.map {
            Member(derivation: $0, entity: model.entities[$0.attribute.declaredBy])
        }
        self.members = members
        byEntity = model.entities.map { entity in members.filter { entity.isKind(of: $0.entity) } }
        var watched = model.entities.map { [Bool](repeating: false, count: $0.attributes.count) }
        var lists = Set<RelationshipID>()
        var sources = Set<ManagedObjectModel.EntityIndex>()
        for member in members {
            switch member.derivation.source {
            case .own, .now: break
            case .across(let relationship, let slot, _):
                for index in model.destination(of: relationship).family {
                    watched[index][slot] = true
                    sources.insert(index)
                }
            case .list(let list):
                lists.insert(RelationshipID(list.relationship))
                guard !list.isPlainCount else { break }
                for index in model.destination(of: list.relationship).family {
                    sources.insert(index)
                    for case .attribute(let slot) in list.properties { watched[index][slot] = true }
                }
            }
        }
        watchedAttributes = watched
        watchedLists = lists
        lateAttributes = Self.lateAttributes(members, model)
        let derived = byEntity.map { !$0.isEmpty }
        isNoted = model.entities.map { derived[$0.index] || sources.contains($0.index) }
        assert(
            zip(isNoted, watched).allSatisfy { isNoted, attributes in isNoted || !attributes.contains(true) },
            "invariant 2: of \(members.count) derived attributes one follows from rows whose changes are not noted")
    }

    private static func lateAttributes(_ members: [Member], _ model: ManagedObjectModel) -> [[Bool]] {
        var late = model.entities.map { [Bool](repeating: false, count: $0.attributes.count) }
        for member in members {
            let isLate =
                switch member.derivation.source {
                case .own(let slot, _): late[member.entity.index][slot]
                case .across, .list, .now: true
                }
            if isLate { for index in member.entity.family { late[index][member.slot] = true } }
        }
        return late
    }

    /// Whether the model has no derived attributes.
    var isEmpty: Bool { members.isEmpty }

    /// Whether values are derived from the destinations of a to-many relationship.
    func isWatched(_ relationship: Relationship) -> Bool {
        !watchedLists.isEmpty && watchedLists.contains(RelationshipID(relationship))
    }

    /// Whether other rows derive values from one of these attributes.
    func isWatched(
        _ values: [(slot: Int, value: AttributeValue)], of entity: ManagedObjectModel.EntityIndex
    ) -> Bool {
        guard isNoted[entity] else { return false }
        return values.contains { watchedAttributes[entity][$0.slot] }
    }

    /// Whether the value of a property follows from other rows or from the time, so that it is computed after all rows
    /// are written.
    func isLate(_ property: Entity.Property, of entity: ManagedObjectModel.EntityIndex) -> Bool {
        guard case .attribute(let slot) = property else { return false }
        return lateAttributes[entity][slot]
    }

    // MARK: Values that follow from the row alone

    /// A new row with the values that follow from it alone, and with those of a row without relationships for the
    /// others.
    func completed(
        _ row: RowValues, of entity: ManagedObjectModel.EntityIndex, at moment: Date
    ) -> RowValues {
        guard !byEntity[entity].isEmpty else { return row }
        let completed = row.copy()
        for member in byEntity[entity] {
            completed.setAttribute(
                value(of: member, at: moment) { completed.attribute(at: $0) }, at: member.slot)
        }
        return completed
    }

    /// The changes of a row, with the derived values that follow from them alone instead of given ones.
    func completed(
        _ values: [(slot: Int, value: AttributeValue)], of entity: ManagedObjectModel.EntityIndex, at moment: Date
    ) -> [(slot: Int, value: AttributeValue)] {
        guard !byEntity[entity].isEmpty else { return values }
        let derived = Set(byEntity[entity].lazy.map(\.slot))
        var completed = values.filter { !derived.contains($0.slot) }
        for member in byEntity[entity] {
            switch member.derivation.source {
            case .own(let slot, let function):
                guard let source = completed.last(where: { $0.slot == slot }) else { continue }
                completed.append((member.slot, member.derivation.derived(source.value, function)))
            case .now: completed.append((member.slot, .date(moment)))
            case .across, .list: continue
            }
        }
        return completed
    }

    private func value(
        of member: Member, at moment: Date, _ value: (Int) -> AttributeValue
    ) -> AttributeValue {
        switch member.derivation.source {
        case .own(let slot, let function): member.derivation.derived(value(slot), function)
        case .across: .null
        case .list(let list): member.derivation.aggregate([], of: list)
        case .now: .date(moment)
        }
    }
}
