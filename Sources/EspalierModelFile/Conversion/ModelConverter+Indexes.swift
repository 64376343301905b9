// Converts both forms of indexes in model files, with names that are unique within each hierarchy.

import EspalierModel

extension ModelConverter {
    /// The index that a `fetchIndex` describes; `nil`, and a note, if it is of an unsupported kind.
    mutating func index(_ element: ModelElement, of entity: ModelElement) -> EntityDescription.Index? {
        var special: String?
        let condition = element.text("partialIndexPredicate")
        if let condition {
            do throws(FetchPredicateError) { _ = try FetchPredicate(format: condition) } catch {
                special = "has a condition (\(error))"
            }
        }
        var parts: [EntityDescription.Index.Element] = []
        for part in element.children {
            let isAscending = part["order"] != "descending"
            if part["type"] == "RTree" {
                special = "indexes locations"
            } else if let expression = part.text("expression") {
                do throws(FetchPredicateError) {
                    parts.append(try Self.part(expression, isAscending: isAscending))
                } catch {
                    special = "indexes an expression (\(error))"
                }
            } else if let property = part["property"] {
                parts.append(.init(property, isAscending: isAscending))
            } else {
                special = "indexes an expression"
            }
        }
        if let special {
            note(.specialIndexes, element, in: [entity], "\(special), which Espalier does not support")
            return nil
        }
        return EntityDescription.Index(Self.identifier(element["name"] ?? ""), on: parts, predicateFormat: condition)
    }

    /// The part of an index with an expression: a property, a property without case and diacritics, or another
    /// expression.
    ///
    /// The type of the result follows from the expression, so that of the file is not read.
    private static func part(
        _ expression: String, isAscending: Bool
    ) throws(FetchPredicateError) -> EntityDescription.Index.Element {
        switch try FetchExpression(format: expression) {
        case .keyPath(let path): return .init(path.components.joined(separator: "."), isAscending: isAscending)
        case .function("canonical", let arguments):
            guard case .keyPath(let path)? = arguments.first else { break }
            return .init(
                path.components.joined(separator: "."), isAscending: isAscending,
                folding: [.caseInsensitive, .diacriticInsensitive])
        default: break
        }
        return .init(expression: expression, isAscending: isAscending)
    }

    /// The indexes of an older file, in which they have no names.
    mutating func compoundIndexes(_ element: ModelElement, of entity: String) -> [EntityDescription.Index] {
        element.children.enumerated().map { number, index in
            EntityDescription.Index(
                "compoundIndex\(number + 1)", on: index.children.map { .init($0["value"] ?? "") })
        }
    }

    /// Appends the entity's name to each index name that another index of the hierarchy has.
    ///
    /// In files the index names of each entity are independent; in a model, subentities inherit the indexes of their
    /// superentities.
    mutating func nameIndexes() {
        let indexByName = Dictionary(
            entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        let given = entities.map { entity in
            entity.indexes.map(\.name) + entity.attributes.filter(\.isIndexed).map(\.name)
        }
        for position in entities.indices {
            var above: Set<String> = []
            var line: Set<Int> = [position]
            var next = entities[position].superentity.flatMap { indexByName[$0] }
            while let ancestor = next, line.insert(ancestor).inserted {
                above.formUnion(given[ancestor])
                next = entities[ancestor].superentity.flatMap { indexByName[$0] }
            }
            above.formUnion(entities[position].attributes.filter(\.isIndexed).map(\.name))
            for slot in entities[position].indexes.indices
            where above.contains(entities[position].indexes[slot].name) {
                entities[position].indexes[slot].name += "Of\(entities[position].name)"
            }
        }
    }

    /// `name` with `_` in place of each character that a model's names cannot contain.
    private static func identifier(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars { result.unicodeScalars.append(scalar.continuesName ? scalar : "_") }
        return result.unicodeScalars.first?.beginsName == false ? "_" + result : result
    }
}
