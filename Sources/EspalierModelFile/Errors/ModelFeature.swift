// The features of model files that Espalier does not support, each with a name by which a caller can ignore it.

/// A feature of model files that Espalier does not support.
///
/// A document keeps all of it, so reading and writing loses nothing. Making a model of the document is refused until
/// the caller ignores each feature that the document uses.
public enum ModelFeature: String, Sendable, Hashable, CaseIterable {
    /// Validation rules that Espalier does not check (MD-16): predicates of compiled models that are no limit, length
    /// or pattern, also those of relationships; their messages; rules of parts of composites, regular expressions that
    /// it cannot parse, and limits that do not fit the type of their attribute. Each of them is left out; all others
    /// become rules of the model.
    case validationRules
    /// Attributes that are derived in a way that stores do not keep (MD-27): they become optional attributes that are
    /// not computed.
    case derivedAttributes
    /// Composites whose parts the file does not have, as in compiled models that do not list them: such attributes are
    /// left out of the model, with the indexes that name their parts; the document keeps them.
    case compositeParts
    /// Fetched properties without a request, as in compiled models, or whose request returns no objects: they are left
    /// out.
    case fetchedProperties
    /// Indexes over map locations, and indexes with an expression or a condition that Espalier cannot parse, that needs
    /// more than the values of the object itself, or whose answer no store can keep (a regular expression, a number of
    /// characters, the time): they are not created.
    case specialIndexes
    /// Relationships that are not stored: Espalier stores them.
    case transientRelationships
    /// Requests that return dictionaries, IDs or counts: they are left out.
    case requestResults
    /// Attributes of elements that are not part of any known model file: their meaning is unknown.
    case unknownAttributes
    /// Texts of the developer where a model has no place for them: the user info of the model and of composite types,
    /// and the renaming identifier and the hash modifier of composite types and of fetched properties. They are left
    /// out.
    case textsWithoutPlace
    /// Another format of the file than 1.0, as its `documentVersion` says: its words may have another meaning than the
    /// one that they are read with.
    case documentVersion
}
