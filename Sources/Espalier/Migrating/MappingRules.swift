// The mappings of a model, resolved against both versions: every property of every destination has its rule.
//
// Invariants
//   1. Every name is one of the model: later code looks up nothing by name that may be missing.

import EspalierModel
import EspalierStore

/// One mapping with its entities, and a rule for each property that gets a value.
struct ResolvedMapping: Sendable {
    let mapping: EntityMapping
    /// `nil` if only the policy makes objects.
    let source: Entity?
    let destination: Entity
    let attributes: [(attribute: Attribute, rule: PropertyMapping, conversion: AttributeConversion)]
    let relationships: [(relationship: Relationship, rule: PropertyMapping)]

    /// The rule of a relationship; `nil` if it has none.
    func rule(of relationship: Relationship) -> PropertyMapping? {
        relationships.first { $0.relationship.name == relationship.name }?.rule
    }

    /// The properties of the source that the mapping reads.
    var reads: Set<String> {
        (attributes.map(\.rule) + relationships.map(\.rule)).reduce(into: mapping.reading) {
            $0.formUnion($1.reads)
        }
    }

    /// Whether code of the application reads this property of the source.
    func isRead(byCode name: String) -> Bool {
        mapping.reading.contains(name)
            || (attributes.map(\.rule) + relationships.map(\.rule)).contains { $0.isComputed(from: name) }
    }

    /// Whether the mapping keeps the order of a list of the source, or leaves it to code.
    func keepsOrder(of list: String) -> Bool {
        isRead(byCode: list) || followers(of: list).contains(where: \.isOrdered)
    }

    /// Whether the mapping follows a list of the source, but only by lists without an order.
    func losesOrder(of list: String) -> Bool {
        !keepsOrder(of: list) && followers(of: list).contains(where: \.isToMany)
    }

    private func followers(of list: String) -> [Relationship] {
        relationships.filter { $0.rule.followedRelationship == list }.map(\.relationship)
    }

    /// The copies of a composite of the source, and of its elements.
    func copies(of composite: String) -> [CompositeCopy] {
        attributes.compactMap { copy -> CompositeCopy? in
            guard let path = copy.rule.elementsCopied(from: composite) else { return nil }
            return CompositeCopy(path: path, lost: Set(copy.conversion.lostElements.map { path + $0 }))
        }
    }
}

/// The copy of a composite, or of an element of it.
struct CompositeCopy {
    /// The elements that lead to what is copied; empty = the composite.
    let path: [String]
    /// The paths of the elements that the copy does not continue, from the composite on.
    let lost: Set<[String]>

    /// Whether the copy continues an element: if it does not continue a composite, it does not continue what is in it.
    func keeps(_ element: [String]) -> Bool {
        element.starts(with: path) && !element.indices.contains { lost.contains(Array(element[...$0])) }
    }
}

/// The rules of all mappings.
struct MappingRules: Sendable {
    let model: MappingModel
    let former: ManagedObjectModel
    let newer: ManagedObjectModel
    let mappings: [ResolvedMapping]
    /// The positions of mappings by name.
    let positions: [String: Int]

    init(
        _ model: MappingModel, from former: ManagedObjectModel, to newer: ManagedObjectModel
    ) throws(MappingError) {
        (self.model, self.former, self.newer) = (model, former, newer)
        var positions: [String: Int] = [:]
        for (position, mapping) in model.entityMappings.enumerated() {
            guard positions.updateValue(position, forKey: mapping.name) == nil else {
                throw .duplicateName(mapping.name)
            }
        }
        self.positions = positions
        var resolved: [ResolvedMapping] = []
        for mapping in model.entityMappings {
            let source = try mapping.sourceEntityName.map { name throws(MappingError) in
                try Self.entity(name, in: former, "older", mapping)
            }
            let destination = try Self.entity(mapping.destinationEntityName, in: newer, "newer", mapping)
            resolved.append(try Self.resolve(mapping, source, destination, in: former, known: positions))
        }
        mappings = resolved
    }

    private static func entity(
        _ name: String, in model: ManagedObjectModel, _ side: String, _ mapping: EntityMapping
    ) throws(MappingError) -> Entity {
        guard let entity = model.entity(named: name), !entity.isAbstract else {
            throw .unknownEntity(
                mapping: mapping.name, name: name, model: side,
                known: model.entities.filter { !$0.isAbstract }.map(\.name))
        }
        return entity
    }

    private static func resolve(
        _ mapping: EntityMapping, _ source: Entity?, _ destination: Entity, in former: ManagedObjectModel,
        known: [String: Int]
    ) throws(MappingError) -> ResolvedMapping {
        let properties = destination.attributes.map(\.name) + destination.relationships.map(\.name)
        var rules: [String: PropertyMapping] = [:]
        for rule in mapping.propertyMappings {
            guard properties.contains(rule.name) else {
                throw .unknownProperty(
                    mapping: mapping.name, property: rule.name, entity: destination.name, known: properties)
            }
            rules[rule.name] = rule
        }
        var attributes: [(Attribute, PropertyMapping, AttributeConversion)] = []
        for (attribute, slot) in zip(
            destination.attributes, ModelMatch.attributes(of: destination, continuing: source))
        {
            let continued = slot.flatMap { source?.attributes[$0] }
            guard let rule = rules[attribute.name] ?? continuing(attribute, continued) else { continue }
            try check(rule, of: mapping, source, in: former, isRelationship: false, known: known)
            // Code gives values that the newer attribute has.
            var older = attribute.description
            if case .keyPath(let path) = rule.source { older = try value(at: path, of: mapping, source, in: former) }
            attributes.append((attribute, rule, AttributeConversion(from: older, to: attribute.description)))
        }
        var relationships: [(Relationship, PropertyMapping)] = []
        for (relationship, slot) in zip(
            destination.relationships, ModelMatch.relationships(of: destination, continuing: source))
        {
            let continued = slot.flatMap { source?.relationships[$0] }
            guard let rule = rules[relationship.name] ?? continuing(relationship, continued) else { continue }
            try check(rule, of: mapping, source, in: former, isRelationship: true, known: known)
            relationships.append((relationship, rule))
        }
        for name in mapping.reading where source?.property(named: name) == nil {
            throw .unknownProperty(
                mapping: mapping.name, property: name, entity: source?.name ?? "no entity",
                known: source.map { $0.attributes.map(\.name) + $0.relationships.map(\.name) } ?? [])
        }
        return ResolvedMapping(
            mapping: mapping, source: source, destination: destination, attributes: attributes,
            relationships: relationships)
    }

    /// The rule of an attribute without one: it gets the values of the attribute that it continues, unless stores
    /// compute them.
    private static func continuing(_ attribute: Attribute, _ former: Attribute?) -> PropertyMapping? {
        guard let former, !former.isTransient, !attribute.isTransient, !attribute.isDerived else { return nil }
        return .copy(attribute.name, from: former.name)
    }

    /// The rule of a relationship without one: it leads where the relationship leads that it continues.
    private static func continuing(_ relationship: Relationship, _ former: Relationship?) -> PropertyMapping? {
        former.map { PropertyMapping.continuing(relationship.name, $0.name) }
    }

    /// The attribute, or the element of a composite, to which the path of a copied value leads: to-one relationships,
    /// an attribute, and elements.
    private static func value(
        at path: String, of mapping: EntityMapping, _ source: Entity?, in former: ManagedObjectModel
    ) throws(MappingError) -> AttributeDescription {
        var steps = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
        var entity = source
        while steps.count > 1, let step = entity?.relationship(named: steps[steps.startIndex]), !step.isToMany {
            entity = former.destination(of: step)
            steps.removeFirst()
        }
        func unknown(_ name: String, _ known: [String]) -> MappingError {
            .unknownProperty(mapping: mapping.name, property: name, entity: entity?.name ?? "no entity", known: known)
        }
        var walked = steps.removeFirst()
        guard var value = entity?.attributes.first(where: { $0.name == walked })?.description else {
            // Further steps follow only a to-one relationship or a composite.
            let toOne = steps.isEmpty ? [] : entity?.relationships.filter { !$0.isToMany }.map(\.name) ?? []
            let attributes = entity?.attributes.filter { steps.isEmpty || $0.type == .composite }.map(\.name) ?? []
            throw unknown(walked, toOne + attributes)
        }
        for step in steps {
            guard let element = value.elements.first(where: { $0.name == step }) else {
                throw unknown("\(walked).\(step)", value.elements.map { "\(walked).\($0.name)" })
            }
            (value, walked) = (element, "\(walked).\(step)")
        }
        return value
    }

    /// Checks the names in a rule.
    private static func check(
        _ rule: PropertyMapping, of mapping: EntityMapping, _ source: Entity?, in former: ManagedObjectModel,
        isRelationship: Bool, known: [String: Int]
    ) throws(MappingError) {
        func unknown(_ name: String, _ entity: Entity?, _ names: [String]) -> MappingError {
            .unknownProperty(
                mapping: mapping.name, property: name, entity: entity?.name ?? "no entity", known: names)
        }
        switch rule.source {
        case .keyPath, .constant:
            // The path was followed for the type of its value.
            if isRelationship { throw unknown(rule.name, source, ["following", "made", "computed"]) }
        case .computed(let reads, _):
            for name in reads where source?.property(named: name) == nil {
                throw unknown(
                    name, source, source.map { $0.attributes.map(\.name) + $0.relationships.map(\.name) } ?? [])
            }
        case .following(let path, let through):
            guard isRelationship else { throw unknown(rule.name, source, ["copy", "constant", "computed"]) }
            var entity = source
            for part in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
                guard let step = entity?.relationship(named: part) else {
                    throw unknown(part, entity, entity?.relationships.map(\.name) ?? [])
                }
                entity = former.destination(of: step)
            }
            if let through, known[through] == nil {
                throw .unknownMapping(mapping: mapping.name, name: through, known: known.keys.sorted())
            }
        case .made(let other):
            guard isRelationship else { throw unknown(rule.name, source, ["copy", "constant", "computed"]) }
            guard known[other] != nil else {
                throw .unknownMapping(mapping: mapping.name, name: other, known: known.keys.sorted())
            }
        }
    }

    // MARK: Losses

    /// The entities that the mappings concern, and the data of the sources that no mapping reads.
    var mapped: MappedMigration.Mapped {
        let sources = Set(mappings.compactMap { $0.source?.name })
        return MappedMigration.Mapped(
            sources: sources, destinations: Set(mappings.map(\.destination.name)),
            losses: former.entities.filter { sources.contains($0.name) }.flatMap { losses(of: $0, sources) },
            mappingNames: mappings.map(\.mapping.name))
    }

    private func losses(of source: Entity, _ sources: Set<String>) -> [MigrationLoss] {
        let reads = mappings.filter { $0.source?.name == source.name }.reduce(into: Set<String>()) {
            $0.formUnion($1.reads)
        }
        var losses: [MigrationLoss] = []
        // A derived value follows from others.
        for attribute in source.attributes
        where !attribute.isTransient && !attribute.isDerived && !reads.contains(attribute.name) {
            losses.append(.removal(of: "\(source.name).\(attribute.name)"))
        }
        for attribute in source.attributes where attribute.type == .composite && !attribute.isTransient {
            for path in lostElements(of: attribute, of: source) {
                losses.append(.removal(of: ([source.name, attribute.name] + path).joined(separator: ".")))
            }
        }
        for relationship in source.relationships {
            let name = "\(source.name).\(relationship.name)"
            if !reads.contains(relationship.name) {
                if !isKept(relationship, sources) { losses.append(.removal(of: name)) }
            } else if losesOrder(relationship, of: source) {
                losses.append(.order(of: name))
            }
        }
        return losses
    }

    /// The loss of a property of a source, of an element, or of the order of a list, for the objects of some mappings,
    /// while others keep it.
    struct PartialLoss {
        /// The loss with the name by which it can be allowed.
        let loss: MigrationLoss
        /// The name of the property, and the names of elements in it.
        let path: [String]
        /// The positions of the mappings that keep it.
        let keepers: Set<Int>
        /// The positions of the mappings whose objects lose it, unless a keeper takes them, too.
        let losers: Set<Int>
    }

    /// The losses that some mappings of a source have, and others do not: properties, unless the inverse keeps their
    /// pairs; elements of composites that both read; and the order of lists that both follow.
    func partialLosses(of source: Entity) -> [PartialLoss] {
        let own = mappings.indices.filter { mappings[$0].source?.name == source.name }
        guard own.count > 1 else { return [] }
        let reads = own.map { (position: $0, names: mappings[$0].reads) }
        func mappingsReading(_ name: String) -> [Int] {
            reads.filter { $0.names.contains(name) }.map { $0.position }
        }
        let sources = Set(mappings.compactMap { $0.source?.name })
        // A derived value follows from others.
        let attributes = source.attributes.filter { !$0.isTransient && !$0.isDerived }
        let relationships = source.relationships.filter { !isKept($0, sources) }
        let properties = (attributes.map(\.name) + relationships.map(\.name)).compactMap { name -> PartialLoss? in
            let readers = Set(mappingsReading(name))
            guard !readers.isEmpty, readers.count < own.count else { return nil }
            return PartialLoss(
                loss: .removal(of: "\(source.name).\(name)"), path: [name], keepers: readers,
                losers: Set(mappings.indices).subtracting(readers))
        }
        let elements = attributes.filter { $0.type == .composite }.flatMap { composite in
            partialLosses(in: composite, of: source, by: mappingsReading(composite.name))
        }
        let orders = source.relationships.filter(\.isOrdered).compactMap { list -> PartialLoss? in
            let keepers = Set(own.filter { mappings[$0].keepsOrder(of: list.name) })
            let losers = Set(own.filter { mappings[$0].losesOrder(of: list.name) })
            guard !keepers.isEmpty, !losers.isEmpty else { return nil }
            return PartialLoss(
                loss: .order(of: "\(source.name).\(list.name)"), path: [list.name], keepers: keepers, losers: losers)
        }
        return properties + elements + orders
    }

    /// The elements of a composite that some of its readers keep and others lose; of composites in it, their elements.
    private func partialLosses(in composite: Attribute, of source: Entity, by readers: [Int]) -> [PartialLoss] {
        guard readers.count > 1 else { return [] }
        let codeReaders = readers.filter { mappings[$0].isRead(byCode: composite.name) }
        let copies = readers.map { (position: $0, copies: mappings[$0].copies(of: composite.name)) }
        return Self.values(in: composite.description.elements, at: []).compactMap { path -> PartialLoss? in
            let copiers = copies.filter { $0.copies.contains { $0.keeps(path) } }.map { $0.position }
            let keepers = Set(codeReaders + copiers)
            guard !keepers.isEmpty, keepers.count < readers.count else { return nil }
            let whole = [composite.name] + path
            return PartialLoss(
                loss: .removal(of: ([source.name] + whole).joined(separator: ".")), path: whole, keepers: keepers,
                losers: Set(readers).subtracting(keepers))
        }
    }

    /// The paths of the elements that have values of their own, in their order.
    private static func values(in elements: [AttributeDescription], at path: [String]) -> [[String]] {
        elements.flatMap { element -> [[String]] in
            let own = path + [element.name]
            return element.elements.isEmpty ? [own] : values(in: element.elements, at: own)
        }
    }

    /// Whether an ordered list of a source is followed, but only by lists without an order.
    private func losesOrder(_ relationship: Relationship, of source: Entity) -> Bool {
        guard relationship.isOrdered else { return false }
        let readers = mappings.filter { $0.source?.name == source.name }
        return readers.contains { $0.losesOrder(of: relationship.name) }
            && !readers.contains { $0.keepsOrder(of: relationship.name) }
    }

    /// The paths of the elements that no copy of a composite, or of an element, continues; none if nothing is copied,
    /// or if code reads the composite.
    private func lostElements(of attribute: Attribute, of source: Entity) -> [[String]] {
        let readers = mappings.filter { $0.source?.name == source.name }
        guard !readers.contains(where: { $0.isRead(byCode: attribute.name) }) else { return [] }
        let copies = readers.flatMap { $0.copies(of: attribute.name) }
        func lost(in elements: [AttributeDescription], at path: [String]) -> [[String]] {
            elements.flatMap { element -> [[String]] in
                let own = path + [element.name]
                let isKept = copies.contains { $0.keeps(own) }
                guard isKept || copies.contains(where: { $0.path.starts(with: own) }) else { return [own] }
                return lost(in: element.elements, at: own)
            }
        }
        let paths = copies.isEmpty ? [] : lost(in: attribute.description.elements, at: [])
        return paths.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Whether the inverse of a relationship keeps its pairs where no mapping reads it.
    private func isKept(_ relationship: Relationship, _ sources: Set<String>) -> Bool {
        guard let inverse = former.inverse(of: relationship), !relationship.isOrdered else { return false }
        let match = ModelMatch(from: former, to: newer).setting(
            apart: sources, Set(mappings.map(\.destination.name)))
        return former.destination(of: relationship).family.allSatisfy { index in
            let owner = former.entities[index]
            if owner.isAbstract { return true }
            guard sources.contains(owner.name) else { return match.newRelationship(inverse.slot, of: index) != nil }
            return mappings.contains { $0.source?.name == owner.name && $0.reads.contains(inverse.name) }
        }
    }
}
