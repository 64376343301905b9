// The derivations of a model, in the order in which they can be computed.
//
// Invariants
//   1. The derivations of a model that exists are valid: the model has checked them.

extension ManagedObjectModel {
    /// The derived attributes, each after those from which it is derived.
    ///
    /// - Complexity: O(attributes).
    package var derivations: [ResolvedDerivation] {
        var ranks = DerivationRanks(self)
        var ranked: [(rank: Int, derivation: ResolvedDerivation)] = []
        for attribute in derivedAttributes {
            guard let found = try? ranks.rank(of: attribute) else { continue }
            ranked.append((found.rank, found.derivation))
        }
        // Swift's sort is stable.
        return ranked.sorted { $0.rank < $1.rank }.map(\.derivation)
    }

    /// The problems of the derivations of a model that is valid otherwise.
    var derivationProblems: [ModelError.Problem] {
        var ranks = DerivationRanks(self)
        return derivedAttributes.compactMap { attribute in
            do throws(DerivationError) {
                _ = try ranks.rank(of: attribute)
                return nil
            } catch {
                return .init(
                    entity: entities[attribute.declaredBy].name, property: attribute.name, "\(error)")
            }
        }
    }

    /// The derived attributes, as the entities that declare them have them.
    private var derivedAttributes: [Attribute] {
        entities.flatMap { entity in
            entity.attributes.filter { $0.declaredBy == entity.index && $0.isDerived }
        }
    }
}

/// The lengths of the chains of derivations below derived attributes.
private struct DerivationRanks {
    private struct Key: Hashable {
        let declaredBy: ManagedObjectModel.EntityIndex
        let slot: Int
    }

    private let model: ManagedObjectModel
    private var known: [Key: (rank: Int, derivation: ResolvedDerivation)] = [:]
    /// The attributes whose ranks are being computed.
    private var begun: Set<Key> = []

    init(_ model: ManagedObjectModel) { self.model = model }

    /// - Throws: `DerivationError` if the derivation is not valid, or if the attribute is derived from itself.
    mutating func rank(
        of attribute: Attribute
    ) throws(DerivationError) -> (rank: Int, derivation: ResolvedDerivation) {
        let key = Key(declaredBy: attribute.declaredBy, slot: attribute.slot)
        if let rank = known[key] { return rank }
        let derivation = try ResolvedDerivation(attribute, of: model.entities[attribute.declaredBy], in: model)
        guard begun.insert(key).inserted else {
            throw DerivationError(
                attribute.derivation?.expression ?? "", "it is derived from itself; break the chain")
        }
        var rank = 0
        for source in derivation.sources(in: model) where source.isDerived {
            rank = max(rank, try self.rank(of: source).rank + 1)
        }
        known[key] = (rank, derivation)
        return (rank, derivation)
    }
}

extension ResolvedDerivation {
    /// The attributes from which the value is computed.
    fileprivate func sources(in model: ManagedObjectModel) -> [Attribute] {
        switch source {
        case .now: []
        case .own(let slot, _): [model.entities[attribute.declaredBy].attributes[slot]]
        case .across(let relationship, let slot, _): [model.destination(of: relationship).attributes[slot]]
        case .list(let list):
            list.properties.compactMap { property in
                guard case .attribute(let slot) = property else { return nil }
                return model.destination(of: list.relationship).attributes[slot]
            }
        }
    }
}

extension ManagedObjectModel {
    /// The rule of a derived attribute; `nil` for another attribute.
    package func derivation(of attribute: Attribute) -> ResolvedDerivation? {
        guard attribute.isDerived else { return nil }
        let entity = entities[attribute.declaredBy]
        return try? ResolvedDerivation(entity.attributes[attribute.slot], of: entity, in: self)
    }

    /// The relationship paths from an object to those from which one of its attributes is derived, however long the
    /// chain of derivations is; none for another attribute.
    func waysOfDerivation(of slot: Int, in entity: EntityIndex) -> [[ResolvedKeyPath.Step]] {
        guard let derivation = derivation(of: entities[entity].attributes[slot]) else { return [] }
        func ways(across relationship: Relationship, _ slots: [Int]) -> [[ResolvedKeyPath.Step]] {
            let step = ResolvedKeyPath.Step(
                source: entity, slot: relationship.slot, destination: relationship.destination,
                isToMany: relationship.isToMany)
            let further = slots.flatMap { waysOfDerivation(of: $0, in: relationship.destination) }
            return [[step]] + further.map { [step] + $0 }
        }
        switch derivation.source {
        case .now: return []
        case .own(let slot, _): return waysOfDerivation(of: slot, in: entity)
        case .across(let relationship, let slot, _): return ways(across: relationship, [slot])
        case .list(let list):
            return ways(
                across: list.relationship,
                list.properties.compactMap { if case .attribute(let slot) = $0 { slot } else { nil } })
        }
    }
}
