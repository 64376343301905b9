// What model files can ask for, and Espalier does not do: each has a name by which a caller can do without it.

/// A feature of model files that Espalier does not have.
///
/// A document keeps all of it, so that reading and writing loses nothing. Making a model of the document is refused as
/// long as the caller does not say, feature by feature, that the application can do without.
public enum ModelFeature: String, Sendable, Hashable, CaseIterable {
    /// Least and greatest values, lengths and regular expressions of attributes (MD-16): values are not checked.
    case validationRules
    /// Attributes that are computed of others (MD-27): they become optional attributes that nothing computes.
    case derivedAttributes
    /// Properties that are requests: objects do not have them.
    case fetchedProperties
    /// Indexes over expressions, over parts of composites and over places on a map, and indexes with a condition: there
    /// is no such index.
    case specialIndexes
    /// Relationships that are never stored: they are stored.
    case transientRelationships
    /// Requests that give dictionaries, IDs or counts: they are left out.
    case requestResults
    /// Attributes of elements that no model file was known to have: nobody knows what they ask for.
    case unknownAttributes
}
