//! Block-sparse matrices: a fixed pattern of small dense blocks in one array.
