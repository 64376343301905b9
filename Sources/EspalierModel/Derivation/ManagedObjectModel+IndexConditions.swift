// The conditions of indexes: what a store can decide for each row by itself, at any time with the same result.

extension ManagedObjectModel {
    /// The problems of the conditions of indexes, in a model that is valid otherwise.
    var indexConditionProblems: [ModelError.Problem] {
        entities.flatMap { entity in
            entity.description.indexes.compactMap { index in
                guard let format = index.predicateFormat, let problem = problem(ofIndexCondition: format, entity)
                else { return nil }
                return .init(
                    entity: entity.name, "the condition of index '\(index.name)', \(format), cannot be kept: \(problem)"
                )
            }
        }
    }

    /// The reason why a store cannot keep an index of an entity with the condition `format`; `nil` if it can.
    package func problem(ofIndexCondition format: String, _ entity: Entity) -> String? {
        do throws(FetchPredicateError) {
            let predicate = try FetchPredicate(format: format)
            let condition = try ResolvedPredicate(predicate, for: entity, in: self)
            guard condition.root.ownProperties != nil else {
                return "it reads more than the values of the object itself; derive an attribute for it"
            }
            guard judgesKeeping else { return nil }
            return predicate.keepingProblem
        } catch {
            return "\(error)"
        }
    }
}
