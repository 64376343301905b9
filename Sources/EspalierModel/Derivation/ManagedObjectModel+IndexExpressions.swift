// The expressions of indexes, checked as a part of the model.

extension ManagedObjectModel {
    /// The problems of the expressions of indexes, in a model that is valid otherwise.
    var indexExpressionProblems: [ModelError.Problem] {
        entities.flatMap { entity in
            entity.description.indexes.flatMap { index in
                index.elements.compactMap { element -> ModelError.Problem? in
                    guard let format = element.expressionFormat, let problem = problem(of: element, format, entity)
                    else { return nil }
                    return .init(
                        entity: entity.name,
                        "the expression of index '\(index.name)', \(format), cannot be kept: \(problem)")
                }
            }
        }
    }

    private func problem(
        of element: EntityDescription.Index.Element, _ format: String, _ entity: Entity
    ) -> String? {
        do throws(IndexExpressionError) {
            let expression = try IndexExpression(format: format, for: entity, in: self)
            if !element.folding.isSubset(of: [.caseInsensitive, .diacriticInsensitive]) {
                return "an index can ignore case and diacritics only"
            }
            return element.folding.isEmpty || expression.type == .string
                ? nil : "it ignores case or diacritics of values that are not texts"
        } catch {
            return error.problem
        }
    }
}
