cat <<EOF <<B
A=1
EOF
B=2
B
export X=1
