// Which scalars names are made of, in models as in predicates.

extension Unicode.Scalar {
    /// Whether it can begin a name: a letter, or `_`.
    package var beginsName: Bool { self == "_" || (isASCII ? isASCIILetter : properties.isXIDStart) }

    /// Whether a name can go on with it: a letter, a digit, or `_`.
    package var continuesName: Bool { beginsName || (isASCII ? ("0"..."9").contains(self) : properties.isXIDContinue) }

    private var isASCIILetter: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
