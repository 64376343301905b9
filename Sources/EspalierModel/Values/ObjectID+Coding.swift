// Coding of object IDs: the URI of a permanent ID, as one text (SD-03).
//
// Invariants
//   1. An ID is decoded as exactly the ID that was encoded. Temporary IDs, which mean nothing outside the process, are
//      not encoded.
//   2. Decoding enters no name and no UUID into the tables of the process, because the text may be anybody's. Only a
//      reference of a row is entered, if the store is one whose rows are known by texts or UUIDs.

extension ObjectID: Codable {
    /// Encodes the URI of a permanent ID (SD-03).
    ///
    /// - Throws: `EncodingError.invalidValue` for a temporary ID: no other process could find the object by it. Save
    ///   the object first, or call `obtainPermanentIDs(for:)`.
    public func encode(to encoder: any Encoder) throws {
        guard !isTemporary else {
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription: "\(self) is temporary: save its object first, or call obtainPermanentIDs(for:)"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(uriRepresentation)
    }

    /// Decodes the URI of a permanent ID (SD-03).
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is no such URI, or if this process has not opened the store
    ///   yet: open the store first.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectID(uriRepresentation: text), !id.isTemporary else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\"\(text)\" is no URI of an object in a store that this process has opened; open "
                    + "the store before decoding")
        }
        self = id
    }
}
