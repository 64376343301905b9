// Leaves out the indexes of a model file whose expressions or conditions no store can keep, and notes them.
//
// Invariants
//   1. A file is refused for such an index only as long as the application does not ignore the feature: no model is
//      made with it.
//   2. Names that a file gives as properties are not judged here: making a model of the descriptions does.

import EspalierModel

/// An index with parts or a condition that a file gives as expressions.
struct ExpressionIndex {
    /// The place of the entity among all.
    let entity: Int
    /// The place of the index in its entity.
    let position: Int
    let element: ModelElement
    let owner: ModelElement
}

extension ModelConverter {
    /// Leaves out the indexes that need other values than those of the object itself, once all entities are known.
    mutating func leaveOutSpecialIndexes() {
        guard !expressionIndexes.isEmpty else { return }
        var plain = entities
        for place in plain.indices { plain[place].indexes = [] }
        // Errors in the rest are told when a model is made of the descriptions.
        guard let model = try? ManagedObjectModel(entities: plain) else { return }
        var leftOut: [ExpressionIndex] = []
        for place in expressionIndexes {
            let index = entities[place.entity].indexes[place.position]
            guard let entity = model.entity(named: entities[place.entity].name),
                let problem = Self.problem(of: index, place.element, entity, model)
            else { continue }
            note(.specialIndexes, place.element, in: [place.owner], "\(problem), which Espalier does not support")
            leftOut.append(place)
        }
        // From the last one on, so that the places of the others stay.
        for place in leftOut.reversed() { entities[place.entity].indexes.remove(at: place.position) }
    }

    /// Leaves out the indexes that name parts of composites which were left out, once all entities are known.
    ///
    /// - Parameter elements: The elements of the entities, in the same order.
    mutating func leaveOutIndexesOfUnknownParts(_ elements: [ModelElement]) {
        guard !attributesWithoutParts.isEmpty else { return }
        let parents = Dictionary(
            entities.map { ($0.name, $0.superentity) }, uniquingKeysWith: { first, _ in first })
        for place in entities.indices {
            var (unknown, line): (Set<String>, Set<String>) = ([], [])
            var next: String? = entities[place].name
            while let name = next, line.insert(name).inserted {
                unknown.formUnion(attributesWithoutParts[name] ?? [])
                next = parents[name] ?? nil
            }
            guard !unknown.isEmpty else { continue }
            var kept: [EntityDescription.Index] = []
            for index in entities[place].indexes {
                let names = index.elements.map { String($0.property.prefix { $0 != "." }) }
                guard let name = names.first(where: unknown.contains) else {
                    kept.append(index)
                    continue
                }
                note(
                    .compositeParts, elements[place], in: [],
                    "the index '\(index.name.shortened)' names '\(name.shortened)', a composite whose parts the file "
                        + "does not have, so it is left out")
            }
            entities[place].indexes = kept
        }
    }

    private static func problem(
        of index: EntityDescription.Index, _ element: ModelElement, _ entity: Entity, _ model: ManagedObjectModel
    ) -> String? {
        if let condition = index.predicateFormat, let problem = model.problem(ofIndexCondition: condition, entity) {
            return "has a condition (\(problem))"
        }
        var hasExpression = false
        for (part, source) in zip(index.elements, element.children) where source.text("expression") != nil {
            hasExpression = true
            if let problem = problem(of: part, entity, model) { return "indexes an expression (\(problem))" }
        }
        let names = index.elements.map(\.name)
        return hasExpression && Set(names).count < names.count ? "indexes a property twice" : nil
    }

    /// The problem of a part that is an expression in the file, although it may be a property.
    private static func problem(
        of part: EntityDescription.Index.Element, _ entity: Entity, _ model: ManagedObjectModel
    ) -> String? {
        if let format = part.expressionFormat {
            do throws(IndexExpressionError) {
                _ = try IndexExpression(format: format, for: entity, in: model)
                return nil
            } catch {
                return error.description
            }
        }
        let names = part.property.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let foreign = "'\(part.property)' is no stored value of the object itself"
        guard let attribute = entity.attribute(named: names[0]), !attribute.isTransient else {
            let isToOne = names.count == 1 && entity.relationship(named: names[0])?.isToMany == false
            return isToOne && part.folding.isEmpty ? nil : foreign
        }
        var end = attribute.description
        for name in names.dropFirst() {
            guard let next = end.elements.first(where: { $0.name == name }) else { return foreign }
            end = next
        }
        guard end.type.hasKeyOrder else { return "the values of '\(part.property)' have no order" }
        return part.folding.isEmpty || end.type == .string ? nil : "'\(part.property)' is no text"
    }
}
