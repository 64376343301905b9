// The errors of a model, found in one pass and reported together.

/// A model is not valid; contains all problems.
public struct ModelError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One problem: the place, the error and the remedy.
    public struct Problem: Equatable, Sendable, CustomStringConvertible {
        /// The entity; `nil` if the problem concerns the model as a whole.
        public let entity: String?
        /// The property, constraint or index of the entity.
        public let property: String?
        /// A clause that names the error and the remedy.
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

    /// All problems, one per line.
    public var description: String {
        "the model is not valid:\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
