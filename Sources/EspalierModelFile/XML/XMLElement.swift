// What an XML text holds, as far as model files and property lists go: elements, attributes in order, text.
//
// Invariants
//   1. Attributes keep the order of the file, and no two of an element have the same name.
//   2. No element lies deeper than `XMLReader.depthMax`, so that code may follow `children` by recursion.

/// One attribute of an element.
struct XMLAttribute {
    let name: String
    let value: String
}

/// One element with all that it contains.
struct XMLElement {
    let name: String
    var attributes: [XMLAttribute] = []
    var children: [XMLElement] = []
    /// The characters between its children, references replaced.
    var text = ""
    /// The line that its tag begins in, from 1.
    let line: Int
}
