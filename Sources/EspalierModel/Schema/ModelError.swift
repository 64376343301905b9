// Everything that can be wrong with a model, found in one pass and reported together.

/// A model that is not valid, with all the reasons.
public struct ModelError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One reason: where, what, and what would be right.
    public struct Problem: Equatable, Sendable, CustomStringConvertible {
        /// The entity, `nil` if the problem is the model's as a whole.
        public let entity: String?
        /// The property, constraint or index of the entity.
        public let property: String?
        /// What is wrong and what would be right.
        public let message: String

        package init(entity: String?, property: String? = nil, _ message: String) {
            (self.entity, self.property, self.message) = (entity, property, message)
        }

        /// `Entity.property: message`.
        public var description: String {
            [entity, property].compactMap(\.self).joined(separator: ".") + (entity == nil ? "" : ": ") + message
        }
    }

    /// All problems, in the order of the model.
    public let problems: [Problem]

    package init(problems: [Problem]) { self.problems = problems }

    /// All problems, one a line.
    public var description: String {
        "the model is not valid:\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
